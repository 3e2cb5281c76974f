"""The shapes of Claude Code's lines, what is in them, and what the reader carries along.

Everything in a line may be anything, so every field is `Any` until it has been looked at. `Skim`
gives the lines that say something, and of those only what they say: results, thoughts and what
calls were given, which is most of the bytes, are passed over without being decoded.
"""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from ccgrep.kinds import SessionKind
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


class _SkimmedBlock(Struct):
    type: str = ""
    text: Any = None
    id: Any = None
    name: Any = None


class _SkimmedMessage(Struct, frozen=True):
    id: Any = None
    model: Any = None
    content: str | list[_SkimmedBlock] = ""


class _Skimmed(Record):
    message: _SkimmedMessage = _SkimmedMessage()


_DECODE = msgspec.json.Decoder(Record).decode
_SKIM = msgspec.json.Decoder(_Skimmed).decode
CALLS = frozenset(["tool_use", "server_tool_use", "mcp_tool_use"])


class Skim:
    """Gives the lines of a file with what they say alone, and none that only has results of calls.

    Until the agent has answered, anything may begin a turn; so may it in a worker's file, which can
    begin anew. Threads inside a main file are told by the parents of their lines. There, nothing is
    left out.
    """

    def __init__(self, kind: SessionKind) -> None:
        self._is_main = kind == "main"
        self._is_worker = kind == "worker"
        self._is_begun = False

    def __call__(self, line: bytes) -> Record | None:
        """Raises as decoding does, and on shapes that are seldom."""
        if not self._is_begun:
            return self._first(line)
        record = _SKIM(line)
        kind, message = record.type, record.message
        if kind not in ("user", "assistant"):
            return None if isinstance(kind, str) and kind in NOISE else record
        if self._is_main and record.isSidechain is True:
            return _DECODE(line)
        content: Any = message.content
        if isinstance(content, list):
            said = [block for block in content if block.type == "text" or block.type in CALLS]
            if kind == "user" and len(said) < len(content):
                if any(block.type not in ("text", "tool_result") for block in content):
                    return _DECODE(line)  # An image may be a prompt.
                if not said:
                    return None
            content = [
                {"type": block.type, "text": block.text, "id": block.id, "name": block.name}
                for block in said
            ]
        plain: Any = {"id": message.id, "model": message.model, "content": content}
        record.message = plain
        return record

    def _first(self, line: bytes) -> Record:
        record = _DECODE(line)
        is_own = not (self._is_main and record.isSidechain is True)
        if record.type == "assistant" and is_own and isinstance(record.message, dict):
            is_begun = is_answer(record, string(record.message.get("model")))
            self._is_begun = is_begun and not self._is_worker
        return record


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
