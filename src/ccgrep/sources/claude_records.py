"""The shapes of Claude Code's lines, and what the reader carries between them.

Everything in a line may be anything, so every field is `Any` until it has been looked at.
"""

from typing import Any

import msgspec
from msgspec import Raw, Struct

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
