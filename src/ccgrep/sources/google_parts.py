"""Reads the content parts of Google's API, in which Gemini CLI and Qwen Code record messages.

Both store a large output in a file of its own and keep only its beginning and end. The file is
found by the last names of its path, below the client's own `tmp` folder.
"""

import json
import os
import re
from typing import Any, NamedTuple

from ccgrep.model import Blob, ToolResult, Usage
from ccgrep.sources.files import read_side_file
from ccgrep.sources.spills import CUT_OUTPUTS
from ccgrep.sources.values import as_count, as_string, base64_blob

SNAPSHOT_ANSWER = "Got it. Thanks for the additional context!"
"""What the agent answers to the summary of a compression."""
_REFERENCED = "--- Content from referenced files ---"
_REFERENCED_END = "--- End of content ---"
_DROPPED = ("<session_context>", "This is the Gemini CLI. We are setting up the context")
_ADDED = (
    "<hook_context>",
    "<system-reminder>",
    "<system_reminder>",
    "<qwen:user-prompt-submit-context>",
    "<qwen:session-start-context>",
)
_EXIT_CODE = re.compile(r"(?m)^Exit Code: (-?\d{1,9})$")
_EXIT_CODE_CHARS = 4096
_NAME = r"([A-Za-z0-9_-][A-Za-z0-9._-]{0,254})"
_SPILL = re.compile(
    r"(?:For full output see|The full output has been saved to): [^\n]*?[/\\]tmp[/\\]"
    rf"{_NAME}[/\\](?:(tool-outputs)[/\\]{_NAME}[/\\])?{_NAME}[ \t]*(?:\n|\Z)"
)
_SPILL_CHARS = 8192


class Call(NamedTuple):
    """A call of a tool, as the model sent it."""

    id: str
    name: str
    input: Any


class Content(NamedTuple):
    """The parts of a message, by kind."""

    texts: list[str]
    thoughts: list[str]
    calls: list[Call]
    results: list[tuple[str, dict[str, Any]]]  # by call id
    blobs: list[Blob]


def split_content(content: Any) -> Content:
    """Return the parts of a message. A string, an object and a list of both are valid."""
    found = Content([], [], [], [], [])
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            found.texts.append(part)
        elif isinstance(part, dict):
            _add_part(found, part)
    return found


def _add_part(found: Content, part: dict[str, Any]) -> None:
    call, response = part.get("functionCall"), part.get("functionResponse")
    if isinstance(call, dict):
        name = as_string(call.get("name")) or "unknown"
        found.calls.append(Call(as_string(call.get("id")), name, call.get("args")))
    elif isinstance(response, dict):
        found.results.append((as_string(response.get("id")), response))
    elif blob := _extract_blob(part):
        found.blobs.append(blob)
    elif text := as_string(part.get("text")):
        (found.thoughts if part.get("thought") is True else found.texts).append(text)


def _extract_blob(part: dict[str, Any]) -> Blob | None:
    data = part.get("inlineData")
    if not isinstance(data, dict) or not isinstance(data.get("data"), str):
        return None
    return base64_blob(data.get("mimeType"), data["data"])


def split_prompt(texts: list[str]) -> tuple[str, list[str]]:
    """Return what the user typed, and what the client added to it."""
    typed: list[str] = []
    added: list[str] = []
    is_added = False
    for text in texts:
        start = text.lstrip()
        if start.startswith(_REFERENCED):
            is_added = True
        elif start.startswith(_REFERENCED_END):
            is_added = False
        elif start.startswith(_ADDED) or is_added:
            added.append(text)
        elif not start.startswith(_DROPPED):
            typed.append(text)
    return "\n".join(typed).strip(), [text.strip() for text in added if text.strip()]


class Outputs:
    """Makes the results of calls, with the outputs that the client stored in files of their own.

    `lacks_output` tells whether such a file was not found.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self.lacks_output = False

    def make_result(self, response: Any, status: str = "") -> ToolResult:
        """Return the result of a call from its `functionResponse`."""
        fields = response if isinstance(response, dict) else {}
        blobs = split_content(fields.get("parts")).blobs
        answer = fields.get("response")
        text, is_error = as_string(answer), status in ("error", "cancelled")
        if isinstance(answer, dict):
            error = answer.get("error")
            is_error = is_error or bool(error)
            text = _flatten(answer.get("output", error if error else answer))
        if match := _EXIT_CODE.search(text[-_EXIT_CODE_CHARS:]):
            is_error = is_error or match.group(1) != "0"
        return ToolResult(self._complete(text), is_error, tuple(blobs))

    def _complete(self, text: str) -> str:
        """Return the whole output if the text is a part of it that names its file."""
        if not text.startswith(CUT_OUTPUTS):
            return text
        match = _SPILL.search(text[:_SPILL_CHARS])
        content = None
        if match is not None:
            path = os.path.join(self._root, "tmp", *filter(None, match.groups()))
            content = read_side_file(path, self._root)
        if content is None:
            self.lacks_output = True
            return text
        return content.decode("utf-8", "replace")


def _flatten(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_usage(key: bytes, model: str, counts: tuple[Any, Any, Any, Any]) -> Usage | None:
    """Return the tokens of an answer from its counts of input, cache, output and thoughts.

    Google's input includes what the cache held, and its output excludes thoughts.
    """
    total, cached, output, thoughts = map(as_count, counts)
    if total is None and output is None:
        return None
    spent = None if total is None else max(total - (cached or 0), 0)
    written = None if output is None else output + (thoughts or 0)
    return Usage(key, model, spent, written, cached)
