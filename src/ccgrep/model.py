"""The values that flow through ccgrep: frozen, typed, without I/O.

A `Turn` has neither position nor time, so a fork, a resumed session and a copy share it. An
`Entry` is a turn's position in a session. A `Session` describes the conversation. Values are
stored as msgpack maps without defaults: a new field with a default changes no existing object's id.
"""

from typing import Any, NewType

from msgspec import Struct

from ccgrep.kinds import NoteKind, SessionKind, SourceName, TitleOrigin

ObjectId = NewType("ObjectId", bytes)
"""The SHA-256 of an object: 32 bytes, written as `@` and hex digits."""


class Blob(Struct, frozen=True, omit_defaults=True):
    """An image or document, of which only type, size and hash are stored."""

    media_type: str
    size: int
    sha256: str


class ToolResult(Struct, frozen=True, omit_defaults=True):
    text: str = ""
    is_error: bool = False
    blobs: tuple[Blob, ...] = ()


class Text(Struct, frozen=True, omit_defaults=True, tag="text"):
    text: str


class Thinking(Struct, frozen=True, omit_defaults=True, tag="thinking"):
    text: str


class ToolCall(Struct, frozen=True, omit_defaults=True, tag="call"):
    """A call with its complete input, and its result if there is one.

    `input` is the JSON object that the agent sent, or a string for Codex's custom tools.
    """

    name: str
    input: Any = None
    result: ToolResult | None = None


Part = Text | Thinking | ToolCall


class Message(Struct, frozen=True, omit_defaults=True, tag="message"):
    """One API message of the agent, which may span several records."""

    parts: tuple[Part, ...]
    model: str = ""


class Note(Struct, frozen=True, omit_defaults=True, tag="note"):
    """Text that neither the user nor the agent wrote."""

    kind: NoteKind
    text: str


Step = Message | Note


class Turn(Struct, frozen=True, omit_defaults=True):
    """One prompt and everything the agent did until the next prompt."""

    prompt: str = ""
    attached: tuple[Blob, ...] = ()
    steps: tuple[Step, ...] = ()

    def messages(self) -> list[Message]:
        return [step for step in self.steps if isinstance(step, Message)]

    def assistant_texts(self) -> list[str]:
        return [part.text for part in self._parts() if isinstance(part, Text)]

    def thinking_texts(self) -> list[str]:
        return [part.text for part in self._parts() if isinstance(part, Thinking)]

    def calls(self) -> list[ToolCall]:
        return [part for part in self._parts() if isinstance(part, ToolCall)]

    def _parts(self) -> list[Part]:
        return [part for step in self.steps if isinstance(step, Message) for part in step.parts]


class Usage(Struct, frozen=True, array_like=True):
    """The tokens of one API message. All copies of a message have the same `key`.

    `None` means unknown, not 0.
    """

    key: bytes
    model: str
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_5m: int | None = None  # the part of `cache_write` that is kept for five minutes
    cache_write_1h: int | None = None


class ModelCost(Struct, frozen=True, array_like=True):
    """What a session spent on one model, as its client counted."""

    model: str
    usd: float | None = None
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


class Entry(Struct, frozen=True, omit_defaults=True):
    """A turn's position in a session. Its number is its index in the manifest."""

    turn: ObjectId
    start: int  # byte range in the transcript when it was read
    end: int
    started: int | None = None  # milliseconds since 1970, UTC
    ended: int | None = None
    cwd: str = ""
    branch: str = ""
    messages: int = 0
    tools: int = 0
    usage: tuple[Usage, ...] = ()
    uuids: bytes = b""  # 16 bytes for each record of the turn
    is_open: bool = False
    is_rolled_back: bool = False


class Session(Struct, frozen=True, omit_defaults=True):
    """A summary of a conversation, without its turns."""

    id: str
    source: SourceName
    kind: SessionKind = "main"
    parent: str = ""  # the session that started this sub-agent
    forked_from: str = ""
    forked_at: int | None = None  # if the transcript shows it
    continued_in: str = ""
    agent: str = ""  # the sub-agent's type
    project: str = ""  # git root of the first cwd, else that cwd
    cwd: str = ""
    current_cwd: str = ""  # the last directory, if it is another one
    branch: str = ""
    title: str = ""
    title_origin: TitleOrigin = "client"
    slug: str = ""
    started: int | None = None
    ended: int | None = None
    turns: int = 0
    messages: int = 0
    tools: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None  # as the client counted it, with requests that are in no record
    costs: tuple[ModelCost, ...] = ()
    models: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    bad_lines: int = 0
    unknown_types: dict[str, int] = {}
    is_prompt_only: bool = False
    is_recovered: bool = False  # from copies or the client's database, without its transcript
    summaries: tuple[tuple[str, bytes], ...] = ()  # of other sessions, with a record's uuid

    @property
    def has_transcript(self) -> bool:
        """Whether it was read from a transcript. If not, any transcript replaces it."""
        return not self.is_prompt_only and not self.is_recovered

    @property
    def is_complete(self) -> bool:
        """Whether ccgrep read the whole transcript."""
        return not self.bad_lines and self.has_transcript

    @property
    def duration_s(self) -> int | None:
        if self.started is None or self.ended is None:
            return None
        return (self.ended - self.started) // 1000


class BadSpot(Struct, frozen=True, array_like=True):
    """A byte range of a transcript that could not be read."""

    offset: int
    length: int
    reason: str
