"""Builds the turns of one session from the events of a reader, in one pass.

A turn goes to the sink as soon as nothing can be added to it. Results and message fragments may
reach a turn after a queued prompt has begun the next one. So the agent's next message after the
turn finishes it. A turn with an unanswered call stays open until several more turns have begun.
Turns that may still grow at the end of the file are open.

Each turn keeps the reader's state from its start. Resuming from the first open turn therefore
yields the same turns as reading the whole file.
"""

from collections.abc import Callable, Container, Iterable
from typing import Any, NamedTuple

from msgspec.structs import replace

from ccgrep.kinds import NoteKind
from ccgrep.model import Blob, Entry, Note, ObjectId, Text, Thinking, ToolResult, Turn, Usage
from ccgrep.sources.jsonl import Mark
from ccgrep.sources.turn_draft import CallDraft, MessageDraft, TurnDraft, merge_usage

_MAX_OPEN_TURNS = 4
"""How many turns may wait for results: a call without a result must not keep all turns open."""

Sink = Callable[[Turn], ObjectId]
"""Stores a finished turn and returns its id."""


class RecordInfo(NamedTuple):
    """The position and envelope of a record, with the reader's state before it."""

    mark: Mark
    end: int
    state: object
    time: int | None = None
    cwd: str = ""
    branch: str = ""
    uuid: bytes = b""
    parent: bytes = b""  # the uuid of the record that this one follows


class _HeldNote(NamedTuple):
    """A note that waits for the turn to which it belongs."""

    record: RecordInfo
    note: Note


class TurnBuilder:
    """The turns of one session, in the order of the file.

    For each record, the reader sets `record` and then calls one method for each part of it.
    `earlier` are the entries that earlier runs finished.
    """

    def __init__(self, sink: Sink, earlier: Iterable[Entry] = ()) -> None:
        self._sink = sink
        self._entries: list[Entry] = list(earlier)
        self._open: list[TurnDraft] = []
        self._message: tuple[TurnDraft, MessageDraft]  # set by `begin_message`
        self._held: list[_HeldNote] = []
        self._held_command: int | None = None
        self.claims: list[tuple[int, ObjectId]] = []  # see `SessionReading`
        self.record = RecordInfo(Mark(0, 0), 0, None)
        self.turn_by_uuid: dict[bytes, int] = {
            entry.uuids[i : i + 16]: number
            for number, entry in enumerate(self._entries)
            for i in range(0, len(entry.uuids), 16)
        }

    @property
    def count(self) -> int:
        return len(self._entries) + len(self._open)

    @property
    def current_prompt(self) -> str:
        return self._open[-1].prompt if self._open else ""

    def begin_turn(self, prompt: str, attached: tuple[Blob, ...] = ()) -> None:
        """Begin a turn. The turns before it stay open for their results."""
        self.release_held()
        if self._answers_later_prompt():
            draft = self._open[0]
            draft.set_late_prompt(prompt, attached)
            self._touch(draft, self.record)
        else:
            self._open_turn(prompt, attached)

    def begin_rebuilt_turn(self, prompt: str, claim: ObjectId, is_rolled_back: bool) -> None:
        """Begin a turn that ccgrep wrote, and that may be the stored turn `claim`."""
        self.release_held()
        self._open_turn(prompt)
        self._open[-1].claim = claim
        self._open[-1].is_rolled_back = is_rolled_back

    def _answers_later_prompt(self) -> bool:
        """Return whether the session begins with the answer to the prompt of this record.

        If the first answer arrives at once, the client writes it before its prompt. Then the
        answer follows a record that was not read yet, and the prompt follows no record of it.
        """
        if self._entries or len(self._open) != 1:
            return False
        draft, known, time = self._open[0], self.turn_by_uuid, self.record.time
        is_orphan = bool(draft.parent) and draft.parent not in known
        is_earlier = time is not None and draft.started is not None and time <= draft.started
        has_answer_only = bool(draft.messages) and not draft.prompt and not draft.attached
        return has_answer_only and is_orphan and is_earlier and self.record.parent not in known

    def hold_command(self, command: str) -> None:
        """Hold a command, which is a prompt only if the agent answers it."""
        self.release_held()
        self._held_command = len(self._held)
        self._hold(Note("command", command))

    def _hold(self, note: Note) -> None:
        self._held.append(_HeldNote(self.record, note))

    def release_held(self) -> None:
        """Add the held notes to the current turn. Without one, they wait for the first turn."""
        self._held_command = None
        if self._open:
            self._add_held(self._open[-1])

    def mark_last_as_machine(self) -> None:
        """Turn the last prompt into a note: the client, not a person, gave it to a worker."""
        if self._open:
            self._open[-1].mark_as_machine()

    def begin_message(self, key: str, model: str) -> None:
        """Begin or continue the API message `key`, to which the next texts and calls belong."""
        for draft in self._open:
            if key in draft.messages:
                self._touch(draft, self.record)
                self._message = draft, draft.messages[key]
                return
        if self._held_command is not None:
            command = self._held.pop(self._held_command)
            self._held_command = None
            self._open_turn(command.note.text, (), command)
        while len(self._open) > 1 and (
            self._open[0].is_answered() or len(self._open) > _MAX_OPEN_TURNS
        ):
            self._close(self._open.pop(0), is_open=False)
        draft = self._current()
        draft.messages[key] = message = MessageDraft(model)
        draft.add_message(message)
        self._message = draft, message

    def has_message(self, key: str) -> bool:
        """Return whether an open turn has a fragment of the API message `key`."""
        return any(key in draft.messages for draft in self._open)

    def has_call(self, call_id: str) -> bool:
        """Return whether an open turn has the call."""
        return any(call_id in draft.calls for draft in self._open)

    def add_part(self, part: Text | Thinking) -> None:
        """Add a text to the message, unless another record of it held the same text."""
        _, message = self._message
        if part not in message.parts:
            message.parts.append(part)

    def add_call(self, call_id: str, name: str, input: Any) -> None:
        draft, message = self._message
        if call_id in draft.calls:
            return
        draft.calls[call_id] = call = CallDraft(name, input)
        message.parts.append(call)
        for other in self._open:
            call.result = other.orphans.pop(call_id, call.result)

    def add_result(self, call_id: str, result: ToolResult, is_running: bool = False) -> None:
        """Add a result to the turn of its call.

        Records are not always in order, so a result may wait for its call. A result whose call
        never comes is kept without it. A command that is running in the background keeps its turn
        open, since its output may grow.
        """
        for draft in self._open:
            call = draft.calls.get(call_id)
            if call is not None:
                call.result = call.result or result
                call.is_running = is_running
                self._touch(draft, self.record)
                return
        self._current().orphans.setdefault(call_id, result)

    def end_call(self, call_id: str) -> None:
        """Record that a background command ended."""
        for draft in self._open:
            if call_id in draft.calls:
                draft.calls[call_id].is_running = False

    def add_usage(self, usage: Usage) -> None:
        """Count tokens once for each key. Of several reports, the largest counts win."""
        for draft in self._open:
            known = draft.usage.get(usage.key)
            if known is not None:
                if known != usage:
                    draft.usage[usage.key] = merge_usage(known, usage)
                return
        self._current().usage[usage.key] = usage

    def add_note(self, kind: NoteKind, text: str) -> None:
        note = Note(kind, text)
        if self._held_command is not None or (not self.count and kind != "summary"):
            self._hold(note)
        else:
            self._current().steps.append(note)

    def has_note(self, kind: NoteKind) -> bool:
        """Return whether the current turn has a note of this kind."""
        steps = self._open[-1].steps if self._open else []
        return any(isinstance(step, Note) and step.kind == kind for step in steps)

    def retract_text(self, summary: str) -> str:
        """Remove and return the agent's last text if `summary` ends with it."""
        last = self._open[-1].steps[-1] if self._open and self._open[-1].steps else None
        parts = last.parts if isinstance(last, MessageDraft) else []
        if not parts or not isinstance(text := parts[-1], Text):
            return ""
        if not summary.endswith(text.text.strip()):
            return ""
        parts.pop()
        return text.text

    def touch(self) -> None:
        """Extend the current turn to a record that adds no text."""
        if self._open:
            self._touch(self._open[-1], self.record)

    def roll_back(self, first: int) -> None:
        """Mark the turns from number `first` on as undone by the user."""
        for number in range(max(first, 0), len(self._entries)):
            entry = self._entries[number]
            if not entry.is_rolled_back:
                self._entries[number] = replace(entry, is_rolled_back=True)
        for number, draft in enumerate(self._open, len(self._entries)):
            if number >= first:
                draft.is_rolled_back = True

    def keep_path(self, path: Container[int]) -> None:
        """Mark the turns outside `path` as undone, and the turns in it as not undone."""
        for number, entry in enumerate(self._entries):
            if entry.is_rolled_back is (number in path):
                self._entries[number] = replace(entry, is_rolled_back=number not in path)
        for number, draft in enumerate(self._open, len(self._entries)):
            draft.is_rolled_back = number not in path

    def roll_back_last(self, count: int) -> None:
        """Roll back the last `count` turns that are not rolled back already."""
        turns: list[Entry | TurnDraft] = [*self._entries, *self._open]
        live = [number for number, turn in enumerate(turns) if not turn.is_rolled_back]
        if count and live:
            self.roll_back(live[-min(count, len(live))])

    def finish(self) -> tuple[list[Entry], tuple[Mark, Any] | None]:
        """Return all entries, and the mark and state from which the next run resumes."""
        self.release_held()
        resume = (self._open[0].mark, self._open[0].state) if self._open else None
        for draft in self._open:
            self._close(draft, is_open=True)
        self._open = []
        return self._entries, resume

    def _close(self, draft: TurnDraft, is_open: bool) -> None:
        if draft.claim is not None:
            self.claims.append((len(self._entries), draft.claim))
        self._entries.append(draft.make_entry(self._sink(draft.freeze()), is_open))

    def _add_held(self, draft: TurnDraft) -> None:
        for record, note in self._held:
            draft.steps.append(note)
            self._touch(draft, record)
        self._held.clear()
        self._held_command = None

    def _open_turn(
        self, prompt: str, attached: tuple[Blob, ...] = (), command: _HeldNote | None = None
    ) -> None:
        """Open a turn that begins with the earliest held note or with the prompt's record."""
        record = command.record if command else self.record
        records = [record, *(held.record for held in self._held)]
        first = min(records, key=lambda record: record.mark.offset)
        draft = TurnDraft(first.mark, first.state, prompt, attached, first.parent)
        draft.end = first.mark.offset
        self._open.append(draft)
        self._add_held(draft)
        draft.copied_steps = len(draft.steps)
        self._touch(draft, record)

    def _current(self) -> TurnDraft:
        if not self._open:
            self._open_turn("")
        draft = self._open[-1]
        self._touch(draft, self.record)
        return draft

    def _touch(self, draft: TurnDraft, record: RecordInfo) -> None:
        draft.extend(record.end, record.time, record.cwd, record.branch)
        if record.uuid and record.uuid not in self.turn_by_uuid:
            self.turn_by_uuid[record.uuid] = len(self._entries) + self._open.index(draft)
            draft.uuids.append(record.uuid)
