"""The rows of opencode's sessions, and functions that extract their content.

Any field of a row may hold any value, so every field is `Any` until it has been checked.
"""

from typing import Any

from msgspec import Struct

from ccgrep.lazy_re import compile_pattern
from ccgrep.model import Blob, ToolResult, Usage
from ccgrep.sources.values import as_count, as_dict, as_string, data_url_blob, usage_key

IGNORED_PARTS = frozenset("step-start step-finish snapshot patch agent".split())
SHELL_NOTICE = "The following tool was executed by the user"
"""The text of a user message, written by the client, before a command that the user ran."""
_MADE_UP_TITLE = r"(?:New|Child) session - \d{4}-\d\d-\d\dT.*"


class Row(Struct, rename={"file_parent": "parentID"}):
    """A session, message or part, as the database or one of the older JSON files has it."""

    type: Any = None
    id: Any = None
    parent_id: Any = None
    file_parent: Any = None  # the parent, in a JSON file
    forked_from: Any = None
    directory: Any = None
    title: Any = None
    version: Any = None
    agent: Any = None
    cost: Any = None
    revert: Any = None
    time_created: Any = None
    kind: Any = None  # of a message of version 2
    data: Any = None

    @staticmethod
    def is_record(value: dict[str, Any], /) -> bool:
        """Return whether an object on a damaged line is a row."""
        is_row = isinstance(value.get("data"), dict) and isinstance(value.get("id"), str)
        return is_row or value.get("type") == "session"

    def fields(self) -> dict[str, Any]:
        """Return the content of a message or part."""
        return as_dict(self.data)


def given_title(title: Any) -> str:
    """Return a session's title, unless it is the one that opencode makes up for a new session."""
    text = as_string(title)
    return "" if compile_pattern(_MADE_UP_TITLE).fullmatch(text) else text


def parse_model(message: dict[str, Any]) -> str:
    return as_string(message.get("modelID")) or as_string(
        as_dict(message.get("model")).get("modelID")
    )


def parse_tokens(tokens: Any, model: str, *key: Any) -> Usage | None:
    """Return the tokens of an answer, or None for an answer without any.

    The key does not depend on ids: a fork has copies of the messages under new ids.
    """
    fields = as_dict(tokens)
    cache = as_dict(fields.get("cache"))
    output, reasoning = as_count(fields.get("output")), as_count(fields.get("reasoning"))
    if output is not None:
        output += reasoning or 0
    counts = (
        as_count(fields.get("input")),
        output,
        as_count(cache.get("read")),
        as_count(cache.get("write")),
    )
    return Usage(usage_key("opencode", *key), model, *counts) if any(counts) else None


def parse_result(state: dict[str, Any]) -> ToolResult | None:
    """Return the result of a call, or None if it has not ended."""
    match state.get("status"):
        case "completed":
            code = as_dict(state.get("metadata")).get("exit")
            blobs = parse_files(state.get("attachments"))
            return ToolResult(as_string(state.get("output")), code not in (0, None), blobs)
        case "error":
            return ToolResult(as_string(state.get("error")), True)
    return None


def parse_files(parts: Any) -> tuple[Blob, ...]:
    """Return the images and documents that parts hold in full."""
    files = parts if isinstance(parts, list) else []
    urls = (file.get("url") for file in files if isinstance(file, dict))
    return tuple(filter(None, map(data_url_blob, urls)))


def parse_error(error: Any) -> str:
    """Return the message of an error, or its name if it has none."""
    fields = as_dict(error)
    data = as_dict(fields.get("data"))
    return as_string(data.get("message")) or as_string(fields.get("name"))
