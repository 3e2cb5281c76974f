"""Reads Claude Code's transcripts.

One file is one session, but for the sidechains that versions up to 2.0.22 wrote into
the main file: these become sub-agents of it. What a line means is told by its type and
by `prompts`; the chain of `parentUuid` is used only to mark what the user rolled back,
since following it would lose a third of the lines.
"""

from typing import Any, cast

import msgspec
from msgspec.structs import replace

from ccgrep.kinds import NoteKind, SessionKind
from ccgrep.model import Blob, Entry, Session, ToolResult
from ccgrep.sources import prompts
from ccgrep.sources.claude_records import (
    CALLS,
    NOISE,
    Record,
    State,
    Taken,
    attached_text,
    attachment_of,
    blocks_of,
    is_answer,
    is_from_person,
    is_record,
    text_of,
    typed_text,
    usage_of,
)
from ccgrep.sources.jsonl import Mark, Readable, Records
from ccgrep.sources.payload import block_blob
from ccgrep.sources.project import project_of
from ccgrep.sources.reading import Before, File, Reading, SessionReading, describe, read_to
from ccgrep.sources.spills import Spills
from ccgrep.sources.turns import Sink, TurnBuilder
from ccgrep.sources.values import (
    added,
    one_more,
    parse_time,
    string,
    usage_key,
    uuid_bytes,
)

_MAX_TAKEN = 20
_KEPT_ATTACHMENTS = frozenset(["file", "directory", "selected_lines_in_ide"])
_MAX_SUMMARIES = 50


def read(
    stream: Readable,
    start: Mark,
    file: File,
    before: Before | None,
    sink: Sink,
    spills: Spills,
) -> Reading:
    """Reads `stream`, which stands at `start`, to its end."""
    records = Records(stream, start, Record, is_record)
    return _Reader(file, before, sink, spills, records).read(start)


class _Reader:
    def __init__(
        self,
        file: File,
        before: Before | None,
        sink: Sink,
        spills: Spills,
        records: Records[Record],
    ) -> None:
        self._file = file
        self._records = records
        self._spills = spills
        self._sink = sink
        self._bad_before = before.bad if before else ()
        self._state = (
            msgspec.msgpack.decode(before.state, type=State)
            if before
            else State(parent=file.parent)
        )
        self._main = TurnBuilder(sink, records.mark, before.entries if before else ())
        self._turns = self._main
        self._sides: dict[bytes, TurnBuilder] = {}
        self._side_of: dict[bytes, bytes] = {}
        self._seen = self._main.turn_of
        self._told: tuple[Any, ...] = ()
        self._aged: tuple[Taken, ...] = ()  # none of these is fresh

    def read(self, start: Mark) -> Reading:
        records = self._records
        for begin, end, record in records:
            self._record(begin, end, record)
        self._begin_injected(None)
        entries, resume = self._main.finish()
        bad = (*self._bad_before, *records.bad)
        sessions = [SessionReading(self._session(entries, len(bad)), tuple(entries), bad)]
        sessions += [self._sidechain(root, turns) for root, turns in self._sides.items()]
        if resume is None or self._sides:
            # Nothing to go on from, or threads that are not carried: read anew next time.
            resume = (Mark(0, 0), State(parent=self._file.parent))
        return read_to(records, start, sessions, *resume)

    def _record(self, start: int, end: int, record: Record) -> None:
        kind = record.type
        if kind in ("user", "assistant", "system", "attachment"):
            uuid = uuid_bytes(record.uuid)
            if uuid in self._seen or uuid in self._side_of:
                return
            if record.isSidechain is True and self._file.kind == "main":
                self._turns = self._side(uuid, record)
            self._turns.at(
                start,
                end,
                self._state,
                parse_time(record.timestamp),
                string(record.cwd),
                string(record.gitBranch),
                uuid,
            )
            if self._state.injected:
                self._turns.pin()
            self._envelope(record)
            if kind == "assistant":
                self._assistant(record)
            elif kind == "user":
                self._user(record)
            elif kind == "attachment":
                self._attachment(record)
            else:
                self._system(record)
            self._turns = self._main
        elif kind == "queue-operation":
            self._turns.at(start, end, self._state, parse_time(record.timestamp))
            self._queue_operation(record)
        else:
            self._metadata(record)

    def _envelope(self, record: Record) -> None:
        told = (record.cwd, record.gitBranch, record.slug, record.sessionId, record.version)
        if told == self._told and not record.forkedFrom:
            return
        self._told = told
        state = self._state
        cwd, branch, slug = string(record.cwd), string(record.gitBranch), string(record.slug)
        version, forked = record.version, record.forkedFrom
        parent = string(record.sessionId) if self._file.kind != "main" else ""
        if (
            (cwd and not state.cwd)
            or (branch and not state.branch)
            or (slug and slug != state.slug)
            or (parent and not state.parent)
            or (version and version not in state.versions)
            or (forked and not state.forked_from)
        ):
            if isinstance(forked, dict):
                forked = forked.get("sessionId")
            self._state = replace(
                state,
                cwd=state.cwd or cwd,
                branch=state.branch or branch,
                slug=slug or state.slug,
                parent=state.parent or parent,
                versions=added(state.versions, version),
                forked_from=state.forked_from or string(forked),
            )

    def _metadata(self, record: Record) -> None:
        kind = record.type
        if kind == "ai-title":
            self._state = replace(self._state, ai_title=string(record.aiTitle))
        elif kind == "custom-title":
            self._state = replace(self._state, custom_title=string(record.customTitle))
        elif kind == "summary":
            found = (string(record.summary), uuid_bytes(record.leafUuid))
            summaries = (*self._state.summaries, found)[-_MAX_SUMMARIES:]
            self._state = replace(self._state, summaries=summaries)
        elif kind == "continued-in":
            continued = string(record.continuedInSessionId)
            self._state = replace(self._state, continued_in=continued)
        elif string(kind) not in NOISE:
            unknown = one_more(self._state.unknown_types, kind)
            self._state = replace(self._state, unknown_types=unknown)

    # What the agent said and did.

    def _assistant(self, record: Record) -> None:
        message = record.message if isinstance(record.message, dict) else {}
        model = string(message.get("model"))
        blocks = blocks_of(message.get("content"))
        if not is_answer(record, model):
            text = "\n".join(string(block.get("text")) for block in blocks)
            self._turns.note("error", text)
            return
        key = string(message.get("id")) or string(record.uuid) or "?"
        if not self._turns.has_message(key):
            if self._state.injected:
                self._begin_injected(parse_time(record.timestamp))
            if self._state.taken is not self._aged:
                self._age_taken()
        self._turns.message(key, model)
        if not self._state.first_prompt:
            self._note_first_prompt()
        for block in blocks:
            self._agent_block(key, block)
        usage = message.get("usage")
        if isinstance(usage, dict):
            self._turns.usage(usage_of(usage, usage_key(key, string(record.requestId)), model))
        if model and model not in self._state.models:
            self._state = replace(self._state, models=added(self._state.models, model))

    def _agent_block(self, key: str, block: dict[str, Any]) -> None:
        kind = block.get("type")
        if kind == "text":
            if text := string(block.get("text")):
                self._turns.text(key, text)
        elif kind == "thinking":
            if text := string(block.get("thinking")):
                self._turns.thinking(key, text)
        elif kind in CALLS:
            name, call_id = string(block.get("name")), string(block.get("id"))
            self._turns.call(key, call_id, name, block.get("input"))
        elif isinstance(kind, str) and kind.endswith("tool_result"):
            self._result(block)

    def _result(self, block: dict[str, Any]) -> None:
        call_id = string(block.get("tool_use_id"))
        texts: list[str] = []
        blobs: list[Blob] = []
        for part in blocks_of(block.get("content")):
            if blob := block_blob(part):
                blobs.append(blob)
            elif part.get("type") == "tool_reference":
                texts.append(string(part.get("tool_name")))
            else:
                texts.append(string(part.get("text")))
        text = "\n".join(filter(None, texts))
        if text.startswith("<persisted-output>"):
            text, spilled = self._spills.resolve(text, call_id)
            blobs += spilled
        is_error = block.get("is_error") is True or text.startswith("<tool_use_error>")
        self._turns.result(call_id, ToolResult(text, is_error, tuple(blobs)))

    # What stands in lines of the user.

    def _user(self, record: Record) -> None:
        message = record.message if isinstance(record.message, dict) else {}
        texts: list[str] = []
        blobs: list[Blob] = []
        has_result = False
        for block in blocks_of(message.get("content")):
            kind = block.get("type")
            if kind == "tool_result":
                has_result = True
                self._result(block)
            elif kind == "text":
                texts.append(string(block.get("text")))
            elif blob := block_blob(block):
                blobs.append(blob)
        if record.isCompactSummary is True:
            self._turns.note("summary", "\n".join(texts))
        elif texts or (blobs and not has_result):
            self._user_texts(record, texts, tuple(blobs))

    def _user_texts(self, record: Record, texts: list[str], blobs: tuple[Blob, ...]) -> None:
        if not is_from_person(record.origin, record.promptSource):
            self._turns.note("notification", "\n".join(texts))
            return
        is_meta = record.isMeta is True
        of_text = prompts.meta_words if is_meta else prompts.words
        said = [words for text in texts for words in of_text(text)]
        typed = "\n".join(words.text for words in said if words.kind == "prompt")
        if typed and self._is_for_machine(typed):
            if self._file.kind == "worker":
                self._turns.restart()
            self._turns.note("machine", typed)
            return
        if typed or (blobs and not is_meta):
            self._prompt("user", typed, blobs, record)
        for words in said:
            self._note(words)

    def _note(self, words: prompts.Words) -> None:
        kind, text = words
        if kind == "output":
            self._turns.settle()
            kind = "command"
        elif kind == "command" and text.startswith("/"):
            self._turns.hold(text)
            return
        if kind in ("prompt", "drop") or not text:
            self._turns.touch()
        else:
            self._turns.note(_note_kind(kind), text)

    def _is_for_machine(self, text: str) -> bool:
        if self._file.kind == "worker":
            return True
        is_sub_agent = self._file.kind == "subagent" or self._turns is not self._main
        return is_sub_agent and prompts.is_machine_prompt(text)

    def _prompt(
        self, side: str, text: str, blobs: tuple[Blob, ...] = (), record: Record | None = None
    ) -> None:
        """Begins a turn, unless the same prompt came already in another shape."""
        state = self._state
        queue, injected = list(state.queue), list(state.injected)
        if text in queue:
            queue.remove(text)
        sides: tuple[str, ...] = (side,)
        for waiting in injected:
            if waiting[0] == text:
                injected.remove(waiting)
                sides = ("queue", side)
                break
        self._state = replace(state, queue=tuple(queue), injected=tuple(injected))
        if self._is_taken(side, text):
            self._turns.touch()
            return
        self._mark_rolled_back(record)
        self._begin_injected(None)
        self._begin(text, blobs, sides)

    def _begin(self, text: str, blobs: tuple[Blob, ...], sides: tuple[str, ...]) -> None:
        self._turns.begin(text, blobs)
        taken = (*self._state.taken, Taken(text, sides))[-_MAX_TAKEN:]
        self._state = replace(self._state, taken=taken)
        self._note_first_prompt()

    def _note_first_prompt(self) -> None:
        if not self._state.first_prompt and self._main.prompt:
            self._state = replace(self._state, first_prompt=self._main.prompt[:400])

    def _begin_injected(self, time: int | None) -> None:
        """Begins the turns of prompts that were injected before `time`.

        Messages that the agent had begun before may be written after the injection.
        """
        late: list[tuple[str, int | None]] = []
        for text, injected_at in self._state.injected:
            if time is not None and injected_at is not None and time < injected_at:
                late.append((text, injected_at))
            elif not self._is_taken("queue", text):
                self._begin(text, (), ("queue",))
        if self._state.injected:
            self._state = replace(self._state, injected=tuple(late))

    def _is_taken(self, side: str, text: str) -> bool:
        """Whether the prompt has begun a turn in another shape; this one is noted then."""
        for known in self._state.taken:
            is_double = known.text == text and side not in known.sides
            # An attachment follows its queue operation at any distance, a user line at once.
            if is_double and (known.is_fresh or side != "user"):
                seen = replace(known, sides=(*known.sides, side))
                taken = tuple(seen if item is known else item for item in self._state.taken)
                self._state = replace(self._state, taken=taken)
                return True
        return False

    def _age_taken(self) -> None:
        if any(known.is_fresh for known in self._state.taken):
            taken = tuple(
                replace(known, is_fresh=False)
                for known in self._state.taken
                if known.sides != ("user",)
            )
            self._state = replace(self._state, taken=taken)
        self._aged = self._state.taken

    def _mark_rolled_back(self, record: Record | None) -> None:
        """A prompt that goes on from an earlier turn undoes the ones after that turn."""
        parent = self._turns.turn_of.get(uuid_bytes(record.parentUuid)) if record else None
        if parent is not None and parent < self._turns.count - 1:
            self._turns.roll_back(parent + 1)

    def _queue_operation(self, record: Record) -> None:
        """Prompts that were typed while the agent worked.

        `remove` means injected into the running turn, `dequeue` that an ordinary user
        line follows, `popAll` that they went back to the input box.
        """
        queue = list(self._state.queue)
        content = text_of(record.content)
        injected = self._state.injected
        match record.operation:
            case "enqueue":
                queue.append(content)
            case "remove" | "dequeue":
                popped = content or (queue[0] if queue else "")
                if popped in queue:
                    queue.remove(popped)
                if record.operation == "remove" and (typed := typed_text(popped)):
                    injected = (*injected, (typed, parse_time(record.timestamp)))
            case "popAll":
                queue.clear()
        self._state = replace(self._state, queue=tuple(queue), injected=injected)
        if injected:
            self._turns.pin()

    def _attachment(self, record: Record) -> None:
        attachment = attachment_of(record)
        if attachment.type == "queued_command":
            text = text_of(attachment.prompt)
            blobs = tuple(filter(None, map(block_blob, blocks_of(attachment.prompt))))
            is_prompt = attachment.commandMode in (None, "prompt", "bash")
            is_typed = is_prompt and is_from_person(attachment.origin, None)
            if attachment.isMeta is True or not is_typed:
                self._turns.note("notification", text)
            elif (typed := typed_text(text)) or blobs:
                self._prompt("attachment", typed, blobs)
            else:
                for words in prompts.words(text):
                    self._note(words)
        elif string(attachment.type) in _KEPT_ATTACHMENTS:
            name = string(attachment.filename) or string(attachment.path)
            content = attachment.content
            text = content if isinstance(content, str) else attached_text(content)
            self._turns.note("context", f"{name}\n{text}".strip())
        else:
            self._turns.touch()

    def _system(self, record: Record) -> None:
        text = string(record.content)
        if record.subtype == "away_summary":
            self._turns.note("summary", text)
        elif record.subtype == "local_command":
            for words in prompts.words(text):
                self._note(words if words.kind != "prompt" else prompts.Words("output", text))
        else:
            self._turns.touch()

    # Sidechains inside a main file.

    def _side(self, uuid: bytes, record: Record) -> TurnBuilder:
        parent = uuid_bytes(record.parentUuid)
        root = self._side_of.get(parent, uuid)
        self._side_of[uuid] = root
        if root not in self._sides:
            self._sides[root] = TurnBuilder(self._sink, self._records.mark)
        return self._sides[root]

    def _sidechain(self, root: bytes, turns: TurnBuilder) -> SessionReading:
        entries, _ = turns.finish()
        name = root.hex()[:8] or f"{entries[0].start if entries else 0:08x}"
        session = self._described(entries, f"agent-{name}", "subagent")
        return SessionReading(replace(session, parent=self._file.id), tuple(entries))

    # What is said of the session as a whole.

    def _session(self, entries: list[Entry], bad_lines: int) -> Session:
        state = self._state
        leaf_titles = [text for text, leaf in state.summaries if leaf in self._seen]
        own_titles = [state.custom_title, self._file.description, state.ai_title]
        titles = [*own_titles, *reversed(leaf_titles), state.slug, state.first_prompt]
        session = self._described(entries, self._file.id, self._file.kind)
        return replace(
            session,
            parent=state.parent if self._file.kind != "main" else "",
            forked_from=state.forked_from,
            continued_in=state.continued_in,
            agent=self._file.agent,
            title=next(filter(None, titles), ""),
            slug=state.slug,
            bad_lines=bad_lines,
            unknown_types=state.unknown_types,
        )

    def _described(self, entries: list[Entry], id: str, kind: SessionKind) -> Session:
        state = self._state
        return describe(
            Session(
                id=id,
                source="claude_code",
                kind=kind,
                project=project_of(state.cwd),
                cwd=state.cwd,
                branch=state.branch,
                models=state.models,
                versions=state.versions,
            ),
            entries,
        )


def _note_kind(kind: str) -> NoteKind:
    return cast(NoteKind, kind)
