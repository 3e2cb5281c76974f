"""Runs a tool by its name: checks the arguments, and encodes the reply or the error."""

from typing import Any

import msgspec

from ccgrep.errors import CcgrepError, ModelError, StoreError, UsageError
from ccgrep.mcp import reply
from ccgrep.mcp.arguments import (
    TOOLS,
    ListArguments,
    ReadConversationArguments,
    ReadTurnArguments,
    SearchArguments,
    input_schema,
)
from ccgrep.mcp.jsonrpc import RpcError, decode
from ccgrep.mcp.server import OnProgress
from ccgrep.mcp.tools import Fields, ToolError, Tools, Warn

_MAX_NOTES = 5
_SHOWN_CHARS = 100
_ERROR_TYPES: list[tuple[type[CcgrepError], str]] = [
    (UsageError, "bad_argument"),
    (ModelError, "no_model"),
    (StoreError, "store"),
]

Arguments = SearchArguments | ListArguments | ReadTurnArguments | ReadConversationArguments


class Toolbox:
    """The tools behind the server's protocol."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def call(self, name: str, arguments: bytes, on_progress: OnProgress) -> tuple[str, bool]:
        """Return the reply as JSON, and whether it is an error with `error` and `type`."""
        try:
            return reply.encode(self._answer(name, arguments, on_progress)), False
        except CcgrepError as error:
            message, type = str(error), _error_type(error)
        except OSError as error:
            message, type = str(error), "trouble"
        return reply.encode({"error": reply.clean_field(message), "type": type}), True

    def _answer(self, name: str, arguments: bytes, on_progress: OnProgress) -> Fields:
        asked: Arguments = _parse(name, arguments)
        notes: list[str] = []
        self._tools.refresh(notes.append, on_progress)
        fields = _run(self._tools, asked, notes.append)
        shown = [reply.clean_field(note) for note in dict.fromkeys(notes)][:_MAX_NOTES]
        return {**fields, **({"notes": shown} if shown else {})}


def _run(tools: Tools, asked: Arguments, warn: Warn) -> Fields:
    match asked:
        case SearchArguments():
            return tools.search_conversations(asked, warn)
        case ListArguments():
            return tools.list_conversations(asked)
        case ReadTurnArguments():
            return tools.read_turn(asked)
        case ReadConversationArguments():
            return tools.read_conversation(asked)


def _parse(name: str, text: bytes) -> Arguments:
    """Return the arguments of a tool; name the wrong one with its value and what is valid."""
    try:
        arguments: Arguments = decode(text, TOOLS[name].arguments)
    except RpcError as error:
        problem, _, path = str(error).partition(" - at `$.")
        wrong = path.rstrip("`").partition("[")[0]
        schemas = input_schema(TOOLS[name].arguments)["properties"]
        if not wrong:
            raise ToolError(
                "bad_argument", f"invalid arguments: {problem}: use {', '.join(schemas)}"
            ) from None
        value = msgspec.json.encode(decode(text, dict)[wrong]).decode()
        shown = value if len(value) <= _SHOWN_CHARS else value[:_SHOWN_CHARS] + "…"
        names = _valid_names(schemas[wrong])
        advice = f": use {', '.join(names)}" if names else ""
        raise ToolError("bad_argument", f"invalid {wrong} {shown}: {problem}{advice}") from None
    return arguments


def _valid_names(schema: dict[str, Any]) -> list[str]:
    """Return the values of an argument that has only some."""
    schemas = [schema, *schema.get("anyOf", ())]
    return next((one["enum"] for one in schemas if "enum" in one), [])


def _error_type(error: CcgrepError) -> str:
    if isinstance(error, ToolError):
        return error.type
    return next((name for kind, name in _ERROR_TYPES if isinstance(error, kind)), "trouble")
