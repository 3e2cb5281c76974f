"""The shapes of Codex's lines, what is in them, and what the reader carries along.

Everything in a line may be anything, so every field is `Any` until it has been looked at.
"""

import re
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ccgrep.kinds import NoteKind, SessionKind
from ccgrep.model import Blob
from ccgrep.sources.payload import data_url_blob
from ccgrep.sources.values import string

_IDE_REQUEST = "## My request for Codex:"
INJECTED: tuple[tuple[str, NoteKind | Literal[""]], ...] = (
    ("<environment_context>", ""),
    ("<user_instructions>", ""),
    ("# AGENTS.md instructions", ""),
    ("<recommended_plugins>", ""),
    ("<INSTRUCTIONS>", ""),
    ("<permissions", ""),
    ("<image", ""),
    ("</image>", ""),
    ("<turn_aborted>", "interrupted"),
    ("<skill>", "context"),
    ("<user_action>", "context"),
    ("<subagent_notification>", "notification"),
)
NOISE = frozenset(
    "world_state inter_agent_communication_metadata inter_agent_communication"
    " security_risk_score".split()
)
BARE_ITEMS = frozenset(
    "message reasoning function_call function_call_output custom_tool_call"
    " custom_tool_call_output local_shell_call web_search_call tool_search_call"
    " tool_search_output ghost_snapshot agent_message".split()
)
MAX_UNPAIRED = 64
CWD = re.compile(r"<cwd>([^<\n]+)</cwd>|Current working directory: ([^\n]+)")
EXIT_CODE = re.compile(r"(?:^|\n)(?:Process exited with code|Exit code:) (-?\d+)")


class Record(Struct):
    """One line; in the form of 2025-08 the item's fields stand beside `type`."""

    type: Any = None
    timestamp: Any = None
    payload: Any = None
    record_type: Any = None
    id: Any = None
    git: Any = None
    role: Any = None
    name: Any = None
    content: Any = None
    summary: Any = None
    arguments: Any = None
    input: Any = None
    call_id: Any = None
    output: Any = None
    action: Any = None

    def item(self) -> dict[str, Any]:
        """The fields of a bare item, as a payload would hold them."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


class State(Struct, frozen=True, omit_defaults=True):
    """What the reader carries from record to record; immutable, so a turn can keep it."""

    id: str = ""
    header_time: int | None = None  # the only time in the form of 2025-08
    kind: SessionKind = "main"
    parent: str = ""
    forked_from: str = ""
    agent: str = ""
    cwd: str = ""
    turn_cwd: str = ""
    branch: str = ""
    title: str = ""
    first_prompt: str = ""
    model: str = ""
    models: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    unknown_types: dict[str, int] = {}
    total_tokens: tuple[int | None, ...] = ()
    answers: int = 0
    unpaired: tuple[tuple[str, str, str], ...] = ()  # side, role, text


def is_record(value: dict[str, Any]) -> bool:
    return isinstance(value.get("payload"), dict) or (
        string(value.get("type")) in BARE_ITEMS and "payload" not in value
    )


def lineage_of(payload: dict[str, Any]) -> tuple[SessionKind, str, str]:
    """Kind, parent and agent of a thread, from its first `session_meta`."""
    source = payload.get("source")
    parent = string(payload.get("parent_thread_id"))
    agent = string(payload.get("agent_role")) or string(payload.get("agent_nickname"))
    inner = source.get("subagent") if isinstance(source, dict) else None
    if inner is None:
        return ("subagent" if parent else "main"), parent, agent
    if isinstance(inner, dict):
        spawn = inner.get("thread_spawn")
        spawn = spawn if isinstance(spawn, dict) else {}
        parent = parent or string(spawn.get("parent_thread_id"))
        return "subagent", parent, agent or string(spawn.get("agent_role"))
    parent = parent or string(payload.get("session_id"))
    return ("worker" if inner == "compact" else "subagent"), parent, agent or string(inner)


def branch_of(git: Any) -> str:
    return string(git.get("branch")) if isinstance(git, dict) else ""


def texts_of(content: Any) -> list[str]:
    """The text parts of content in any of its shapes."""
    if isinstance(content, str):
        return [content]
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return []
    parts = (part.get("text") if isinstance(part, dict) else part for part in content)
    return [part for part in parts if isinstance(part, str) and part]


def images_of(content: Any) -> tuple[Blob, ...]:
    if not isinstance(content, list):
        return ()
    urls = (part.get("image_url") for part in content if isinstance(part, dict))
    return tuple(filter(None, map(data_url_blob, urls)))


def request_of(text: str) -> str:
    """The person's words behind what the client put in front of them."""
    if text.lstrip().startswith(("# Context from my IDE", "# Files mentioned by the user")):
        _, found, request = text.partition(_IDE_REQUEST)
        return request if found else text
    return text


def is_same_text(role: str, a: str, b: str) -> bool:
    """Equal, or the longer one has what the client put around the shorter."""
    short, long = sorted((a.strip(), b.strip()), key=len)
    if role == "user":
        return short in long
    return long.startswith(short) and (
        len(long) == len(short) or long[len(short) :].lstrip().startswith("<oai-")
    )


def parsed(text: str) -> Any:
    """The JSON in a string, else the string."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return text


def minus(a: int | None, b: int | None) -> int | None:
    return None if a is None else max(a - (b or 0), 0)
