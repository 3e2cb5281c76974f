"""A stand-in for OpenAI's chat completions, which Qwen Code uses."""

import json
from typing import Any

from msgspec.structs import replace

from tests.clients.script import Call, Part, Say, Served, Think
from tests.clients.stub import Stage, StubHandler, Texts


class ChatHandler(StubHandler):
    """Answers as the scenario of the URL scripts it."""

    def answer(self, stage: Stage, path: str, body: Any) -> None:
        if path != "v1/chat/completions":
            self.do_GET()
            return
        choice = stage.choose(_texts(body))
        if choice.answer.status:
            error = {"message": choice.answer.error, "type": "invalid_request_error"}
            self.send_json({"error": error}, choice.answer.status)
            return
        number, served = stage.serve(choice, body.get("model", ""))
        # Chat completions do not report what was written to a cache.
        stage.served[-1] = served = replace(served, cache_write=0)
        message = _message(choice.answer.parts, number)
        stop = "tool_calls" if "tool_calls" in message else "stop"
        reply = {"id": f"chatcmpl-{number:06d}", "created": 1, "model": served.model}
        if body.get("stream"):
            self._stream(reply, message, stop, _usage(served))
        else:
            ended = [{"index": 0, "message": message, "finish_reason": stop}]
            self.send_json({**reply, "choices": ended, "usage": _usage(served)})

    def _stream(
        self, reply: dict[str, Any], message: dict[str, Any], stop: str, usage: dict[str, Any]
    ) -> None:
        self.begin_events()
        said = [{"index": 0, "delta": message, "finish_reason": None}]
        ended = [{"index": 0, "delta": {}, "finish_reason": stop}]
        for more in ({"choices": said}, {"choices": ended}, {"choices": [], "usage": usage}):
            self.wfile.write(f"data: {json.dumps({**reply, **more})}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")


def _texts(body: Any) -> Texts:
    texts: Texts = []
    for message in body.get("messages") or []:
        content = message.get("content")
        parts = [{"text": content}] if isinstance(content, str) else content or []
        if message["role"] == "assistant":
            texts.append(("assistant", ""))
        elif message["role"] == "user":
            texts += [("user", part.get("text", "")) for part in parts]
    return texts


def _message(parts: tuple[Part, ...], number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    calls: list[dict[str, Any]] = []
    for position, part in enumerate(parts):
        match part:
            case Say(text):
                message["content"] += text
            case Think(text):
                message["reasoning_content"] = text
            case Call(name, input):
                function = {"name": name, "arguments": json.dumps(input)}
                call = {"id": f"call_{number:04d}{position:02d}", "type": "function"}
                calls.append({"index": len(calls), **call, "function": function})
    return {**message, "tool_calls": calls} if calls else message


def _usage(served: Served) -> dict[str, Any]:
    """Return the tokens as OpenAI counts them: the input includes what the cache held."""
    total = served.input + served.cache_read
    return {
        "prompt_tokens": total,
        "completion_tokens": served.output,
        "total_tokens": total + served.output,
        "prompt_tokens_details": {"cached_tokens": served.cache_read},
    }
