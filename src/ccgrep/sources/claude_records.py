"""The shapes of Claude Code's lines, what is in them, and what the reader carries along.

Everything in a line may be anything, so every field is `Any` until it has been looked at.
"""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from ccgrep.model import Usage
from ccgrep.sources import prompts
from ccgrep.sources.values import count, string

NOISE = frozenset(
    "progress file-history-snapshot file-history-delta last-prompt permission-mode mode"
    " bridge-session agent-name pr-link worktree-state frame-link fork-context-ref relocated"
    " agent-color agent-setting tag task-summary session-mode isolation-latch".split()
)
_KNOWN = NOISE | frozenset(
    "user assistant system attachment queue-operation summary ai-title custom-title"
    " continued-in".split()
)


class Record(Struct):
    """One line; fields that are not named here are skipped without being decoded."""

    type: Any = None
    subtype: Any = None
    uuid: Any = None
    parentUuid: Any = None
    sessionId: Any = None
    timestamp: Any = None
    cwd: Any = None
    gitBranch: Any = None
    version: Any = None
    slug: Any = None
    isSidechain: Any = None
    isMeta: Any = None
    isCompactSummary: Any = None
    isApiErrorMessage: Any = None
    origin: Any = None
    promptSource: Any = None
    message: Any = None
    requestId: Any = None
    operation: Any = None
    content: Any = None
    attachment: Raw = Raw()
    summary: Any = None
    leafUuid: Any = None
    aiTitle: Any = None
    customTitle: Any = None
    forkedFrom: Any = None
    continuedInSessionId: Any = None


CALLS = frozenset(["tool_use", "server_tool_use", "mcp_tool_use"])


def is_answer(record: Record, model: str) -> bool:
    """Whether a line of the agent is its own, and not an error of the API."""
    return model != "<synthetic>" and record.isApiErrorMessage is not True


class Attachment(Struct):
    type: Any = None
    prompt: Any = None
    commandMode: Any = None
    origin: Any = None
    isMeta: Any = None
    filename: Any = None
    path: Any = None
    content: Any = None


class Taken(Struct, frozen=True, array_like=True):
    """A prompt that has begun a turn, and the shapes in which it has been seen.

    The same prompt may stand in a `queue` operation, an `attachment` and a `user` line. It
    is fresh until the agent's next message.
    """

    text: str
    sides: tuple[str, ...]
    is_fresh: bool = True


class State(Struct, frozen=True, omit_defaults=True):
    """What the reader carries from record to record; immutable, so a turn can keep it."""

    cwd: str = ""
    branch: str = ""
    parent: str = ""
    custom_title: str = ""
    ai_title: str = ""
    summaries: tuple[tuple[str, bytes], ...] = ()
    slug: str = ""
    first_prompt: str = ""
    forked_from: str = ""
    continued_in: str = ""
    versions: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    unknown_types: dict[str, int] = {}
    queue: tuple[str, ...] = ()
    injected: tuple[tuple[str, int | None], ...] = ()
    taken: tuple[Taken, ...] = ()


def is_record(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    return isinstance(kind, str) and (kind in _KNOWN or "sessionId" in value or "uuid" in value)


def attachment_of(record: Record) -> Attachment:
    try:
        return msgspec.json.decode(record.attachment, type=Attachment)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Attachment()


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """Content as a list of blocks, whatever shape it came in."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, dict):
        return [content]
    if not isinstance(content, list):
        return []
    return [
        block if isinstance(block, dict) else {"type": "text", "text": string(block)}
        for block in content
    ]


def text_of(content: Any) -> str:
    return "\n".join(filter(None, (string(block.get("text")) for block in blocks_of(content))))


def attached_text(content: Any) -> str:
    """The text inside an attached file: `{type, file: {content}}` since 2.1.114."""
    inner = content.get("file") if isinstance(content, dict) else None
    return string(inner.get("content")) if isinstance(inner, dict) else ""


def typed_text(text: str) -> str:
    """What of a queued text somebody typed."""
    return "\n".join(words.text for words in prompts.words(text) if words.kind == "prompt")


def is_from_person(origin: Any, prompt_source: Any) -> bool:
    """What newer versions say of a prompt's origin; older ones say nothing."""
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return kind in (None, "human") and prompt_source != "system"


def usage_of(usage: dict[str, Any], key: bytes, model: str) -> Usage:
    return Usage(
        key=key,
        model=model,
        input=count(usage.get("input_tokens")),
        output=count(usage.get("output_tokens")),
        cache_read=count(usage.get("cache_read_input_tokens")),
        cache_write=count(usage.get("cache_creation_input_tokens")),
    )
