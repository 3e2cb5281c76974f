"""Builds the turns of one session from a reader's events, in one pass.

A turn is handed to the sink as soon as nothing can be added to it any more: results and
fragments may reach a turn while a queued prompt has already begun the next one. A turn
is done with the agent's next message after it, or, if a call in it was not answered,
when several more have begun. Turns that may still grow at the end of the file are open.
The state that a reader needs to go on from the first open turn is taken where that turn
begins, so reading on gives what reading anew would.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from msgspec.structs import replace

from ccgrep.kinds import NoteKind
from ccgrep.model import (
    Blob,
    Entry,
    Message,
    Note,
    ObjectId,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)
from ccgrep.sources.jsonl import Mark

_MAX_WAITING = 4
"""How many turns may wait for results: a call that is never answered must not hold all."""

Sink = Callable[[Turn], ObjectId]
"""Takes a finished turn, gives its id."""


class _Call:
    __slots__ = ("input", "name", "result")

    def __init__(self, name: str, input: Any) -> None:
        self.name = name
        self.input = input
        self.result: ToolResult | None = None


class _Message:
    __slots__ = ("model", "parts")

    def __init__(self, model: str) -> None:
        self.model = model
        self.parts: list[Text | Thinking | _Call] = []

    def freeze(self) -> Message:
        return Message(
            parts=tuple(
                ToolCall(part.name, part.input, part.result) if isinstance(part, _Call) else part
                for part in self.parts
            ),
            model=self.model,
        )


_Place = tuple[int, int, object, int | None, str, str, bytes]
"""Where the record that is being told begins and ends, the reader's state from before it, and what
it says of time, directory, branch and itself. Plain, since there is one for each record."""


class _Held(NamedTuple):
    """A note that waits for the turn it belongs to."""

    mark: Mark
    place: _Place
    note: Note


class _Draft:
    """A turn that may still grow."""

    __slots__ = (
        "attached",
        "branch",
        "calls",
        "cwd",
        "end",
        "ended",
        "is_rolled_back",
        "mark",
        "messages",
        "orphans",
        "prompt",
        "started",
        "state",
        "steps",
        "usage",
        "uuids",
    )

    def __init__(self, mark: Mark, state: object, prompt: str, attached: tuple[Blob, ...]) -> None:
        self.mark = mark
        self.state = state
        self.prompt = prompt
        self.attached = attached
        self.steps: list[_Message | Note] = []
        self.messages: dict[str, _Message] = {}
        self.calls: dict[str, _Call] = {}
        self.orphans: dict[str, ToolResult] = {}
        self.usage: dict[bytes, Usage] = {}
        self.uuids: list[bytes] = []
        self.started: int | None = None
        self.ended: int | None = None
        self.cwd = self.branch = ""
        self.end = mark.offset
        self.is_rolled_back = False

    def is_answered(self) -> bool:
        return all(call.result is not None for call in self.calls.values())

    def freeze(self) -> Turn:
        steps = [
            step.freeze() if isinstance(step, _Message) else step
            for step in self.steps
            if isinstance(step, Note) or step.parts
        ]
        steps += [
            Message((ToolCall("unknown", result=result),)) for result in self.orphans.values()
        ]
        return Turn(prompt=self.prompt, attached=self.attached, steps=tuple(steps))

    def entry(self, turn: ObjectId, is_open: bool) -> Entry:
        return Entry(
            turn=turn,
            start=self.mark.offset,
            end=self.end,
            started=self.started,
            ended=self.ended,
            cwd=self.cwd,
            branch=self.branch,
            messages=sum(bool(message.parts) for message in self.messages.values())
            + bool(self.prompt or self.attached),
            tools=len(self.calls) + len(self.orphans),
            usage=tuple(self.usage.values()),
            uuids=b"".join(self.uuids),
            is_open=is_open,
            is_rolled_back=self.is_rolled_back,
        )


class TurnBuilder:
    """The turns of one session, told in the order of the file.

    The reader says `at(...)` for each record and then what the record holds. `before`
    are the entries of the turns that were finished in earlier runs, and `mark` gives the
    checksum of what comes before the record that is being told.
    """

    def __init__(
        self, sink: Sink, mark: Callable[[int], Mark], before: Iterable[Entry] = ()
    ) -> None:
        self._sink = sink
        self._mark = mark
        self._entries: list[Entry] = list(before)
        self._open: list[_Draft] = []
        self._held: list[_Held] = []
        self._held_command: int | None = None
        self._place: _Place = (0, 0, None, None, "", "", b"")
        self._pinned: Mark | None = None
        self.turn_of: dict[bytes, int] = {
            entry.uuids[i : i + 16]: number
            for number, entry in enumerate(self._entries)
            for i in range(0, len(entry.uuids), 16)
        }

    def at(
        self,
        start: int,
        end: int,
        state: object,
        time: int | None = None,
        cwd: str = "",
        branch: str = "",
        uuid: bytes = b"",
    ) -> None:
        """The record that the following calls come from."""
        self._place = (start, end, state, time, cwd, branch, uuid)

    def pin(self) -> None:
        """A turn may begin with this record when others have been told, and its checksum can no
        longer be made."""
        self._pinned = self._mark(self._place[0])

    @property
    def count(self) -> int:
        return len(self._entries) + len(self._open)

    @property
    def is_empty(self) -> bool:
        return not self.count

    @property
    def prompt(self) -> str:
        """The current turn's."""
        return self._open[-1].prompt if self._open else ""

    def begin(self, prompt: str, attached: tuple[Blob, ...] = ()) -> None:
        """A prompt: the turn before it waits for what still belongs to it."""
        self.settle()
        self._open_turn(prompt, attached)

    def hold(self, prompt: str) -> None:
        """A command that is a prompt only if the agent answers it."""
        self.settle()
        self._held_command = len(self._held)
        self._hold(Note("command", prompt))

    def _hold(self, note: Note) -> None:
        self._held.append(_Held(self._mark(self._place[0]), self._place, note))

    def settle(self) -> None:
        """What was held goes to the turn before; without one it waits for the first."""
        self._held_command = None
        if self._open:
            self._take_held(self._open[-1])

    def restart(self) -> None:
        """Forget what the open turn holds: the worker's own exchange begins here."""
        self._open.clear()
        self._held.clear()

    def message(self, key: str, model: str) -> None:
        """A fragment of the API message `key` follows."""
        for draft in self._open:
            if key in draft.messages:
                self._touch(draft, self._place)
                return
        if self._held_command is not None:
            command = self._held.pop(self._held_command)
            self._held_command = None
            self._open_turn(command.note.text, (), command)
        while len(self._open) > 1 and (
            self._open[0].is_answered() or len(self._open) > _MAX_WAITING
        ):
            self._finish(self._open[:1])
        draft = self._current()
        draft.messages[key] = message = _Message(model)
        draft.steps.append(message)

    def text(self, key: str, text: str) -> None:
        self._add_part(key, Text(text))

    def thinking(self, key: str, text: str) -> None:
        self._add_part(key, Thinking(text))

    def call(self, key: str, call_id: str, name: str, input: Any) -> None:
        draft, message = self._owner(key)
        if call_id in draft.calls:
            return
        draft.calls[call_id] = call = _Call(name, input)
        message.parts.append(call)
        for other in self._open:
            call.result = other.orphans.pop(call_id, call.result)

    def result(self, call_id: str, result: ToolResult) -> None:
        """The result goes to its call's turn, and waits for a call that comes later.

        Lines are not always in order; a result whose call never comes is kept as it is.
        """
        for draft in self._open:
            call = draft.calls.get(call_id)
            if call is not None:
                call.result = call.result or result
                self._touch(draft, self._place)
                return
        self._current().orphans.setdefault(call_id, result)

    def usage(self, usage: Usage) -> None:
        """Counted once for each key; of several reports the largest figures hold."""
        for draft in self._open:
            known = draft.usage.get(usage.key)
            if known is not None:
                if known != usage:
                    draft.usage[usage.key] = _largest(known, usage)
                return
        self._current().usage[usage.key] = usage

    def note(self, kind: NoteKind, text: str) -> None:
        note = Note(kind, text)
        if self._held_command is not None or (self.is_empty and kind != "summary"):
            self._hold(note)
        else:
            self._current().steps.append(note)

    def touch(self) -> None:
        """The record belongs to the current turn, though it adds no text."""
        if self._open:
            self._touch(self._open[-1], self._place)

    def has_message(self, key: str) -> bool:
        """Whether a fragment of the API message came already, in a turn that is open."""
        for draft in self._open:  # noqa: SIM110 - there is a call for each line of an answer
            if key in draft.messages:
                return True
        return False

    def roll_back(self, first: int) -> None:
        """The user undid the turns from number `first` on; they stay, marked."""
        for number in range(max(first, 0), len(self._entries)):
            entry = self._entries[number]
            if not entry.is_rolled_back:
                self._entries[number] = replace(entry, is_rolled_back=True)
        for number, draft in enumerate(self._open, len(self._entries)):
            if number >= first:
                draft.is_rolled_back = True

    def live_turns(self) -> list[int]:
        """Numbers of the turns that have a prompt and were not rolled back."""
        done = [n for n, entry in enumerate(self._entries) if not entry.is_rolled_back]
        drafts = enumerate(self._open, len(self._entries))
        return done + [n for n, draft in drafts if not draft.is_rolled_back]

    def finish(self) -> tuple[list[Entry], tuple[Mark, Any] | None]:
        """All entries, and from where and with which state the next run reads on."""
        self.settle()
        resume = (self._open[0].mark, self._open[0].state) if self._open else None
        for draft in self._open:
            self._entries.append(draft.entry(self._sink(draft.freeze()), is_open=True))
        self._open = []
        return self._entries, resume

    def _finish(self, drafts: list[_Draft]) -> None:
        for draft in drafts:
            self._entries.append(draft.entry(self._sink(draft.freeze()), is_open=False))
        del self._open[: len(drafts)]

    def _take_held(self, draft: _Draft) -> None:
        for _, place, note in self._held:
            draft.steps.append(note)
            self._touch(draft, place)
        self._held.clear()

    def _open_turn(
        self, prompt: str, attached: tuple[Blob, ...] = (), command: _Held | None = None
    ) -> None:
        """A new turn that begins with the earliest of: what was held, the command, here."""
        here = command.place if command else self._place
        mark = command.mark if command else self._begin_of(here)
        first = min([(mark, here), *((held.mark, held.place) for held in self._held)], key=_begin)
        draft = _Draft(first[0], first[1][2], prompt, attached)
        self._open.append(draft)
        self._take_held(draft)
        self._touch(draft, here)

    def _begin_of(self, place: _Place) -> Mark:
        if self._pinned is not None and self._pinned.offset == place[0]:
            return self._pinned
        return self._mark(place[0])

    def _current(self) -> _Draft:
        if not self._open:
            self._open_turn("")
        draft = self._open[-1]
        self._touch(draft, self._place)
        return draft

    def _touch(self, draft: _Draft, place: _Place) -> None:
        _, end, _, time, cwd, branch, uuid = place
        draft.end = max(draft.end, end)
        if time is not None:
            if not draft.started or time < draft.started:
                draft.started = time
            if not draft.ended or time > draft.ended:
                draft.ended = time
        if not draft.cwd:
            draft.cwd = cwd
        if not draft.branch:
            draft.branch = branch
        if uuid and uuid not in self.turn_of:
            self.turn_of[uuid] = len(self._entries) + self._open.index(draft)
            draft.uuids.append(uuid)

    def _owner(self, key: str) -> tuple[_Draft, _Message]:
        for draft in self._open:
            message = draft.messages.get(key)
            if message is not None:
                return draft, message
        raise KeyError(key)

    def _add_part(self, key: str, part: Text | Thinking) -> None:
        _, message = self._owner(key)
        if part not in message.parts:
            message.parts.append(part)


def _begin(held: tuple[Mark, _Place]) -> int:
    return held[0].offset


def _largest(a: Usage, b: Usage) -> Usage:
    def most(x: int | None, y: int | None) -> int | None:
        return max(x or 0, y or 0) if x is not None or y is not None else None

    return Usage(
        key=a.key,
        model=a.model or b.model,
        input=most(a.input, b.input),
        output=most(a.output, b.output),
        cache_read=most(a.cache_read, b.cache_read),
        cache_write=most(a.cache_write, b.cache_write),
    )
