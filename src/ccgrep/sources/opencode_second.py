"""Converts the messages of opencode 2 into those of opencode 1, which the reader knows.

Version 2 has one row for each message, in the order of `seq`. Its type is a column, and its parts
are in it.
"""

from typing import Any, NamedTuple

from ccgrep.sources.values import as_dict, as_dicts, as_string

IGNORED_KINDS = frozenset("agent-switched model-switched location-switched".split())
_CONTEXT_KINDS = frozenset("synthetic system skill".split())
_STOPPED = ("abort", "interrupt")


class Converted(NamedTuple):
    """A message and its parts."""

    message: dict[str, Any]
    parts: list[dict[str, Any]]


def convert_message(kind: str, data: dict[str, Any]) -> Converted:
    """Return a message of version 2 in the form of version 1.

    Its role is also `shell` for a command that the user ran, and `idle` for the end of a turn.
    """
    base = {"role": kind, "time": as_dict(data.get("time"))}
    text = as_string(data.get("text"))
    match kind:
        case "user":
            files = [_convert_file(file) for file in as_dicts(data.get("files"))]
            return Converted(base, [{"type": "text", "text": text}, *files])
        case "assistant":
            return _convert_answer(base, data)
        case "compaction":
            return _convert_compaction(base, data)
        case "shell":
            output = as_dict(data.get("output")).get("output")
            return Converted({**base, "command": data.get("command"), "output": output}, [])
        case _ if kind in _CONTEXT_KINDS:
            part = {"type": "text", "text": text, "synthetic": True}
            return Converted({**base, "role": "user"}, [part])
    return Converted({**base, "outcome": data.get("outcome")}, [])


def _convert_answer(base: dict[str, Any], data: dict[str, Any]) -> Converted:
    message = {
        **base,
        "modelID": as_dict(data.get("model")).get("id"),
        "tokens": data.get("tokens"),
        "cost": data.get("cost"),
        "error": _convert_error(data.get("error")),
    }
    parts = [_convert_part(part) for part in as_dicts(data.get("content"))]
    if retry := as_dict(data.get("retry")):
        parts.append({"type": "retry", "error": _convert_error(retry.get("error"))})
    return Converted(message, parts)


def _convert_compaction(base: dict[str, Any], data: dict[str, Any]) -> Converted:
    answer = _convert_answer({**base, "role": "assistant"}, data).message
    if data.get("status") == "failed":
        return Converted(answer, [])
    part = {"type": "text", "text": data.get("summary")}
    return Converted({**answer, "summary": True}, [part])


def _convert_part(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part of an answer. The output of a call is a list of texts and files."""
    if part.get("type") != "tool":
        return part
    state = as_dict(part.get("state"))
    content = as_dicts(state.get("content"))
    error = as_string(as_dict(state.get("error")).get("message"))
    texts = [as_string(one.get("text")) for one in content]
    text = "\n".join(filter(None, (error, *texts)))
    converted = {
        "status": state.get("status"),
        "input": state.get("input"),
        "output": text,
        "error": text,
        "metadata": state.get("metadata"),
        "attachments": [_convert_file(one) for one in content if one.get("type") == "file"],
    }
    return {"type": "tool", "tool": part.get("name"), "state": converted}


def _convert_file(file: dict[str, Any]) -> dict[str, Any]:
    url = file.get("uri") or f"data:{file.get('mime')};base64,{as_string(file.get('data'))}"
    return {"type": "file", "mime": file.get("mime"), "url": url}


def _convert_error(error: Any) -> dict[str, Any] | None:
    fields = as_dict(error)
    if not fields:
        return None
    kind = as_string(fields.get("type"))
    name = "MessageAbortedError" if any(word in kind for word in _STOPPED) else kind
    return {"name": name, "data": {"message": fields.get("message")}}
