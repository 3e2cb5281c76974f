"""A stand-in for OpenAI's Responses API, which Codex uses with streaming only."""

import base64
import json
from typing import Any

from tests.clients.script import Call, Part, Say, Served, Think
from tests.clients.stub import TITLE, Stage, StubHandler, Texts

_AGENT_ITEMS = frozenset(
    "reasoning function_call custom_tool_call local_shell_call tool_search_call web_search_call"
    .split()
)  # fmt: skip


class OpenAIHandler(StubHandler):
    """Answers as the scenario of the URL scripts it."""

    def answer(self, stage: Stage, path: str, body: Any) -> None:
        if path != "v1/responses":
            self.do_GET()
            return
        if _asks_for_title(body):
            title = Say(json.dumps({"title": TITLE}))
            self._send_response("resp_title", (title,), Served("", 0, "", 1, 1, 0, 0), 0)
            return
        choice = stage.choose(_texts(body))
        if choice.answer.status:
            error = {"message": choice.answer.error, "type": "invalid_request_error"}
            self.send_json({"error": error}, choice.answer.status)
            return
        number, served = stage.serve(choice, body.get("model", ""))
        self._send_response(f"resp_stub{number:06d}", choice.answer.parts, served, number)

    def _send_response(self, id: str, parts: tuple[Part, ...], served: Served, number: int) -> None:
        self.begin_events()
        self.send_event("response.created", response={"id": id})
        for index, part in enumerate(parts):
            if item := _item(part, f"{number:04d}{index:02d}"):
                self.send_event("response.output_item.added", output_index=index, item=item)
                self._send_text(index, item)
                self.send_event("response.output_item.done", output_index=index, item=item)
        self.send_event("response.completed", response={"id": id, "usage": _usage(served)})

    def _send_text(self, index: int, item: dict[str, Any]) -> None:
        if item["type"] == "message":
            (content,) = item["content"]
            place = {"item_id": item["id"], "output_index": index, "content_index": 0}
            self.send_event("response.output_text.delta", **place, delta=content["text"])


def _asks_for_title(body: Any) -> bool:
    """Return whether the answer must be an object with a title, by its JSON schema."""
    format = (body.get("text") or {}).get("format") or {}
    return "title" in (format.get("schema") or {}).get("properties", {})


def _texts(body: Any) -> Texts:
    """Return the texts of a request. Adjacent items of the model are one message."""
    texts: Texts = []
    was_agent = False
    for item in body.get("input") or []:
        kind, role = item.get("type", "message"), item.get("role")
        is_agent = kind in _AGENT_ITEMS or (kind == "message" and role == "assistant")
        if is_agent and not was_agent:
            texts.append(("assistant", ""))
        elif kind == "agent_message" or (kind == "message" and role == "user"):
            texts += [("user", text) for text in _content_texts(item.get("content"))]
        was_agent = is_agent
    return texts


def _content_texts(content: Any) -> list[str]:
    """Return the texts of a message. A sub-agent's task is in `encrypted_content`."""
    if isinstance(content, str):
        return [content]
    return [part.get("encrypted_content") or part.get("text") or "" for part in content or []]


def _usage(served: Served) -> dict[str, Any]:
    """Return the tokens as OpenAI counts them: the input includes what the cache held."""
    total = served.input + served.cache_read + served.cache_write
    cache = {"cached_tokens": served.cache_read, "cache_write_tokens": served.cache_write}
    return {
        "input_tokens": total,
        "input_tokens_details": cache,
        "output_tokens": served.output,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": total + served.output,
    }


def _item(part: Part, number: str) -> dict[str, Any] | None:
    match part:
        case Say(text):
            content = [{"type": "output_text", "text": text, "annotations": []}]
            message = {"type": "message", "role": "assistant", "content": content}
            return {**message, "id": f"msg_{number}"}
        case Think(text):
            hidden = base64.b64encode(f"stub {number}".encode()).decode()
            summary = [{"type": "summary_text", "text": text}]
            thought = {"type": "reasoning", "summary": summary, "encrypted_content": hidden}
            return {**thought, "id": f"rs_{number}"}
        case Call(name, str() as input):
            call = {"type": "custom_tool_call", "name": name, "input": input}
            return {
                **call,
                "status": "completed",
                "id": f"ctc_{number}",
                "call_id": f"call_{number}",
            }
        case Call("tool_search", input):
            return {
                "type": "tool_search_call",
                "execution": "client",
                "arguments": input,
                "status": "completed",
                "id": f"tsc_{number}",
                "call_id": f"call_{number}",
            }
        case Call(name, input):
            call = {"type": "function_call", "name": name, "arguments": json.dumps(input)}
            more = {"namespace": part.namespace} if part.namespace else {}
            return {**call, **more, "id": f"fc_{number}", "call_id": f"call_{number}"}
    return None
