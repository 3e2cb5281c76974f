"""A stand-in for the Gemini API, with and without streaming."""

import json
from typing import Any

from msgspec.structs import replace

from tests.clients.script import Call, Part, Say, Served, Think
from tests.clients.stub import Stage, StubHandler, Texts

_THOUGHT_TOKENS = 3


class GeminiHandler(StubHandler):
    """Answers as the scenario of the URL scripts it."""

    def answer(self, stage: Stage, path: str, body: Any) -> None:
        if path.endswith(":countTokens"):
            self.send_json({"totalTokens": len(json.dumps(body)) // 4})
            return
        choice = stage.choose(_texts(body))
        if choice.answer.status:
            error = {"code": choice.answer.status, "message": choice.answer.error}
            self.send_json({"error": error}, choice.answer.status)
            return
        model = path.rpartition("models/")[2].partition(":")[0]
        number, served = stage.serve(choice, model)
        # Gemini does not report what it wrote to a cache.
        stage.served[-1] = served = replace(served, cache_write=0)
        parts = [_part(part) for part in choice.answer.parts]
        content = {"role": "model", "parts": [part for part in parts if part]}
        response = {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": _usage(served),
            "modelVersion": model,
            "responseId": f"resp{number:06d}",
        }
        if ":stream" not in path:
            self.send_json(response)
            return
        self.begin_events()
        self.wfile.write(f"data: {json.dumps(response)}\n\n".encode())


def _texts(body: Any) -> Texts:
    texts: Texts = []
    for content in body.get("contents") or []:
        if content.get("role") == "model":
            texts.append(("assistant", ""))
        else:
            texts += [("user", part["text"]) for part in content["parts"] if "text" in part]
    return texts


def _usage(served: Served) -> dict[str, int]:
    """Return the tokens as Gemini counts them: the output excludes thoughts."""
    total = served.input + served.cache_read
    return {
        "promptTokenCount": total,
        "cachedContentTokenCount": served.cache_read,
        "candidatesTokenCount": served.output - _THOUGHT_TOKENS,
        "thoughtsTokenCount": _THOUGHT_TOKENS,
        "totalTokenCount": total + served.output,
    }


def _part(part: Part) -> dict[str, Any] | None:
    match part:
        case Say(text):
            return {"text": text}
        case Think(text):
            return {"text": text, "thought": True}
        case Call(name, input):
            return {"functionCall": {"name": name, "args": input}}
    return None
