"""A stand-in for Anthropic's Messages API, with and without streaming."""

import json
from typing import Any

from tests.clients.script import Call, Part, Redact, Say, Served, Think
from tests.clients.stub import TITLE, Choice, Stage, StubHandler, Texts

_ERROR_TYPES = {400: "invalid_request_error", 429: "rate_limit_error", 529: "overloaded_error"}


class AnthropicHandler(StubHandler):
    """Answers as the scenario of the URL scripts it."""

    def answer(self, stage: Stage, path: str, body: Any) -> None:
        if path == "v1/messages/count_tokens":
            self.send_json({"input_tokens": len(json.dumps(body)) // 4})
        elif path != "v1/messages":
            self.do_GET()
        elif _asks_for_title(body):
            text = {"type": "text", "text": json.dumps({"title": TITLE})}
            usage = {"input_tokens": 1, "output_tokens": 1}
            self._send_message(body, _message(body, "msg_title", usage), [text], "end_turn")
        else:
            self._answer_messages(stage, body)

    def _answer_messages(self, stage: Stage, body: Any) -> None:
        choice = stage.choose(_texts(body))
        if choice.answer.status:
            error = {"message": choice.answer.error}
            error["type"] = _ERROR_TYPES.get(choice.answer.status, "api_error")
            self.send_json({"type": "error", "error": error}, choice.answer.status)
            return
        number, served = stage.serve(choice, body.get("model", ""))
        blocks = [
            block
            for index, part in enumerate(choice.answer.parts)
            if (block := _block(part, f"{number:04d}{index:02d}"))
        ]
        message = _message(body, f"msg_01stub{number:06d}", _usage(served))
        self._send_message(body, message, blocks, _stop_reason(choice, blocks))

    def _send_message(
        self, body: Any, message: dict[str, Any], blocks: list[dict[str, Any]], stop: str
    ) -> None:
        if not body.get("stream"):
            self.send_json({**message, "content": blocks, "stop_reason": stop})
            return
        self.begin_events()
        usage = message["usage"]
        self.send_event(
            "message_start", message={**message, "usage": {**usage, "output_tokens": 1}}
        )
        for index, block in enumerate(blocks):
            self._send_block(index, block)
        delta = {"stop_reason": stop, "stop_sequence": None}
        self.send_event("message_delta", delta=delta, usage=usage)
        self.send_event("message_stop")

    def _send_block(self, index: int, block: dict[str, Any]) -> None:
        start, deltas = _split_block(block)
        self.send_event("content_block_start", index=index, content_block=start)
        for delta in deltas:
            self.send_event("content_block_delta", index=index, delta=delta)
        self.send_event("content_block_stop", index=index)


def _texts(body: Any) -> Texts:
    texts: Texts = []
    for message in body["messages"]:
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if message["role"] == "assistant":
            texts.append(("assistant", ""))
        else:  # A prompt that was queued comes in a message with the role `system`.
            texts += [("user", block["text"]) for block in blocks if block.get("type") == "text"]
    return texts


def _asks_for_title(body: Any) -> bool:
    system = body.get("system") or ""
    parts = [system] if isinstance(system, str) else [block.get("text", "") for block in system]
    return not body.get("tools") and any("title" in part.lower() for part in parts)


def _message(body: Any, id: str, usage: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _usage(served: Served) -> dict[str, Any]:
    return {
        "input_tokens": served.input,
        "output_tokens": served.output,
        "cache_read_input_tokens": served.cache_read,
        "cache_creation_input_tokens": served.cache_write,
    }


def _stop_reason(choice: Choice, blocks: list[dict[str, Any]]) -> str:
    calls = any(block["type"] == "tool_use" for block in blocks)
    return choice.answer.stop or ("tool_use" if calls else "end_turn")


def _block(part: Part, number: str) -> dict[str, Any] | None:
    match part:
        case Say(text):
            return {"type": "text", "text": text}
        case Think(text):
            return {"type": "thinking", "thinking": text, "signature": f"c3R1Yg{number}"}
        case Redact(data):
            return {"type": "redacted_thinking", "data": data}
        case Call(name, input):
            return {"type": "tool_use", "id": f"toolu_01stub{number}", "name": name, "input": input}
    return None


def _split_block(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the block as it starts, and what completes it."""
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": block["thinking"]}
            signature = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [thought, signature]
        case "tool_use":
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            return {**block, "input": {}}, [delta]
    return block, []
