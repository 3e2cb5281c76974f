"""The records of Codex's rollouts, functions that extract their content, and the reader's state.

Any field of a record may hold any value, so every field is `Any` until it has been checked.
"""

import re
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ccgrep.kinds import NoteKind, SessionKind
from ccgrep.model import Blob
from ccgrep.sources.values import as_count, as_string, data_url_blob

_IDE_REQUEST = "## My request for Codex:"
_IDE_CONTEXT = ("# Context from my IDE", "# Files mentioned by the user")
INJECTED_TEXTS: tuple[tuple[str, NoteKind | Literal[""]], ...] = (
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
"""How texts begin that the client sent in the user's name, and the notes they become, if any."""
IGNORED_TYPES = frozenset(
    "world_state inter_agent_communication_metadata inter_agent_communication"
    " security_risk_score".split()
)
IGNORED_ITEMS = frozenset(
    "ghost_snapshot additional_tools compaction compaction_summary context_compaction other".split()
)
SHELL_COMMAND = re.compile(
    r"(?s)<user_shell_command>\s*<command>\n?(.*?)\n?</command>\s*"
    r"<result>\n?(.*?)\n?</result>\s*</user_shell_command>"
)
"""A command that the user ran with `!`, and its result."""
BARE_ITEMS = frozenset(
    "message reasoning function_call function_call_output custom_tool_call"
    " custom_tool_call_output local_shell_call web_search_call tool_search_call"
    " tool_search_output ghost_snapshot agent_message".split()
)
CWD = re.compile(r"<cwd>([^<\n]+)</cwd>|Current working directory: ([^\n]+)")
EXIT_CODE = re.compile(r"(?:^|\n)(?:Process exited with code|Exit code:) (-?\d+)")


class Record(Struct):
    """One line of a rollout. In the format of 2025-08, an item's fields are beside `type`."""

    type: Any = None
    timestamp: Any = None
    payload: Any = None
    ordinal: Any = None
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
    ccgrep: Any = None

    @staticmethod
    def is_record(value: dict[str, Any], /) -> bool:
        """Return whether an object on a damaged line is a record."""
        return isinstance(value.get("payload"), dict) or (
            as_string(value.get("type")) in BARE_ITEMS and "payload" not in value
        )

    def item(self) -> dict[str, Any]:
        """Return the fields of a bare item, as a payload holds them."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


class State(Struct, frozen=True, omit_defaults=True):
    """What the reader carries from record to record.

    It is immutable, so a turn can keep it, and its field names are an on-disk format.
    """

    id: str = ""
    header_time: int | None = None  # the only time in the format of 2025-08
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
    agent_name: str = ""  # the name of a sub-agent's task
    own_ordinal: int = 0  # a sub-agent's earlier records are its parent's
    ordinals: tuple[int, ...] = ()  # of the record that began each turn, in paginated rollouts
    answers: int = 0  # prompts and results: texts between two of them are one message
    unpaired: tuple[tuple[str, str, str], ...] = ()  # side, role, text


def parse_lineage(payload: dict[str, Any]) -> tuple[SessionKind, str, str]:
    """Return kind, parent and agent of a thread, from its first `session_meta`."""
    source = payload.get("source")
    parent = as_string(payload.get("parent_thread_id"))
    agent = as_string(payload.get("agent_role")) or as_string(payload.get("agent_nickname"))
    inner = source.get("subagent") if isinstance(source, dict) else None
    if inner is None:
        return ("subagent" if parent else "main"), parent, agent
    if isinstance(inner, dict):
        spawn = inner.get("thread_spawn")
        spawn = spawn if isinstance(spawn, dict) else {}
        parent = parent or as_string(spawn.get("parent_thread_id"))
        return "subagent", parent, agent or as_string(spawn.get("agent_role"))
    parent = parent or as_string(payload.get("session_id"))
    return ("worker" if inner == "compact" else "subagent"), parent, agent or as_string(inner)


def parse_agent_name(payload: dict[str, Any]) -> str:
    """Return the last name of a sub-agent's path, such as `/root/count_lines`."""
    return as_string(payload.get("agent_path")).rpartition("/")[2]


def parse_history_base(payload: dict[str, Any]) -> tuple[str, int | None]:
    """Return the rollout that a paginated rollout continues, and the first ordinal left out."""
    base = payload.get("history_base")
    if not isinstance(base, dict):
        return "", None
    return as_string(base.get("thread_id")), as_count(base.get("end_ordinal_exclusive"))


def extract_error(error: Any) -> str:
    """Return the message of an API error, which may be a JSON text of its own."""
    message = error.get("message") if isinstance(error, dict) else error
    inner = parse_json(message) if isinstance(message, str) else None
    if isinstance(inner, dict) and isinstance(inner.get("error"), dict):
        message = inner["error"].get("message") or message
    return as_string(message)


def extract_branch(git: Any) -> str:
    return as_string(git.get("branch")) if isinstance(git, dict) else ""


def extract_texts(content: Any) -> list[str]:
    """Return the text parts of content of any shape."""
    if isinstance(content, str):
        return [content]
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return []
    parts = (part.get("text") if isinstance(part, dict) else part for part in content)
    return [part for part in parts if isinstance(part, str) and part]


def extract_agent_message(content: Any) -> str:
    """Return the text of a message between agents, as far as it can be read.

    OpenAI encrypts the task in `encrypted_content`. Other providers leave it as it is.
    """
    parts = content if isinstance(content, list) else []
    hidden = (as_string(p.get("encrypted_content")) for p in parts if isinstance(p, dict))
    readable = [text for text in hidden if any(map(str.isspace, text))]
    return "".join([*extract_texts(content), *readable])


def extract_images(content: Any) -> tuple[Blob, ...]:
    if not isinstance(content, list):
        return ()
    urls = (part.get("image_url") for part in content if isinstance(part, dict))
    return tuple(filter(None, map(data_url_blob, urls)))


def strip_ide_context(text: str) -> str:
    """Return the prompt without the context that an IDE put before it."""
    if text.lstrip().startswith(_IDE_CONTEXT):
        _, separator, request = text.partition(_IDE_REQUEST)
        return request if separator else text
    return text


def is_same_text(role: str, a: str, b: str) -> bool:
    """Return whether two texts are equal, apart from what the client added to one of them."""
    short, long = sorted((a.strip(), b.strip()), key=len)
    if role == "user":
        return short in long
    return long.startswith(short) and (
        len(long) == len(short) or long[len(short) :].lstrip().startswith("<oai-")
    )


def parse_json(text: str) -> Any:
    """Return the value of a JSON text, or the text itself if it is not JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return text
