"""Reads the sessions of opencode, from its database or the JSON files of versions before 1.2.

A session is a virtual file: `export` yields its row, and then each message followed by its parts.
A part has no order of its own, so a message is read when all of its parts are known.
"""

from typing import Any

from msgspec.structs import replace

from ccgrep.model import Session, Text, Thinking
from ccgrep.sources.identity import safe_id
from ccgrep.sources.jsonl import Mark, Records
from ccgrep.sources.opencode_records import (
    IGNORED_PARTS,
    SHELL_NOTICE,
    Row,
    given_title,
    parse_error,
    parse_files,
    parse_model,
    parse_result,
    parse_tokens,
)
from ccgrep.sources.opencode_second import IGNORED_KINDS, convert_message
from ccgrep.sources.opencode_storage import export, list_files
from ccgrep.sources.reading import (
    Input,
    NoState,
    Reading,
    SessionIdentity,
    SessionReading,
    make_reading,
)
from ccgrep.sources.scan import FoundFile, split_virtual
from ccgrep.sources.titles import MAX_TITLE_CHARS, choose_title
from ccgrep.sources.turns import RecordInfo, TurnBuilder
from ccgrep.sources.values import (
    append_unique,
    as_amount,
    as_dict,
    as_string,
    count_type,
    find_project,
    parse_time,
    uuid_bytes,
)

__all__ = ["export", "identify", "list_files", "read"]


def identify(path: str) -> SessionIdentity:
    """Return the session's id, which is the name of the virtual file."""
    return SessionIdentity(safe_id(split_virtual(path)[1]))


def read(input: Input, _found: FoundFile) -> Reading:
    """Read the rows of a session. Its first row changes with each message, so read all of them."""
    return _OpencodeReader(input).read()


class _OpencodeReader:
    """Reads one session."""

    def __init__(self, input: Input) -> None:
        self._input = input
        self._records = Records(input.stream, Mark(0, 0), Row)
        self._turns = TurnBuilder(input.sink)
        self._session = Row()
        self._message: tuple[Mark, Row] | None = None
        self._parts: list[dict[str, Any]] = []
        self._end = 0
        self._is_shell = False  # the user ran a command
        self._is_interrupted = False  # the last answer
        self._reverted_from: int | None = None
        self._first_prompt = ""
        self._agent = ""
        self._cwd = ""
        self._models: tuple[str, ...] = ()
        self._unknown: dict[str, int] = {}
        self._costs: list[float] = []

    def read(self) -> Reading:
        for mark, end, row in self._records:
            if row.type == "part" and self._message is not None:
                self._parts.append(row.fields())
            else:
                self._read_group()
                self._begin_row(mark, row)
            self._end = end
        self._read_group()
        if self._reverted_from is not None:
            self._turns.roll_back(self._reverted_from)
        entries, _ = self._turns.finish()
        reading = SessionReading(self._make_session(), tuple(entries), tuple(self._records.bad))
        return make_reading(self._input, self._records, [reading], Mark(0, 0), NoState())

    def _begin_row(self, mark: Mark, row: Row) -> None:
        match row.type:
            case "session":
                self._session = row
                self._cwd = as_string(row.directory)
            case "message" if row.kind is not None:
                self._begin_second(mark, row)
            case "message":
                self._message = mark, row
            case kind:
                self._unknown = count_type(self._unknown, kind)

    def _begin_second(self, mark: Mark, row: Row) -> None:
        """Begin a message of version 2, whose parts are in it."""
        kind = as_string(row.kind)
        if kind in IGNORED_KINDS:
            return
        message, self._parts = convert_message(kind, row.fields())
        self._message = mark, replace(row, data=message)

    def _read_group(self) -> None:
        """Read a message with its parts."""
        if self._message is None:
            return
        (mark, row), parts = self._message, self._parts
        self._message, self._parts = None, []
        message = row.fields()
        cwd = as_string(as_dict(message.get("path")).get("cwd")) or self._cwd
        times = as_dict(message.get("time"))
        time = parse_time(times.get("created")) or parse_time(row.time_created)
        uuid = uuid_bytes(as_string(row.id))
        self._turns.record = RecordInfo(mark, self._end, None, time, cwd, "", uuid)
        self._note_revert(row)
        match message.get("role"):
            case "user":
                self._read_prompt(message, parts)
            case "assistant" if message.get("summary") is True:
                texts = [as_string(p.get("text")) for p in parts if p.get("type") == "text"]
                self._add_note("summary", "\n".join(filter(None, texts)))
                self._add_usage(message, parts)
            case "assistant":
                self._read_answer(message, parts)
            case "shell":
                self._begin_turn(as_string(message.get("command")))
                self._add_note("command", as_string(message.get("output")))
            case "idle":
                if message.get("outcome") == "interrupted" and not self._is_interrupted:
                    self._add_note("interrupted", "Interrupted")
            case role:
                self._unknown = count_type(self._unknown, f"message/{role}")
        if completed := parse_time(times.get("completed")):
            self._turns.record = self._turns.record._replace(time=completed)
            self._turns.touch()

    def _note_revert(self, row: Row) -> None:
        """Remember from which turn on the user undid the session.

        If only a part of a message was undone, its turn remains.
        """
        if row.id and as_dict(self._session.revert).get("messageID") == row.id:
            self._reverted_from = self._turns.count

    # Prompts.

    def _read_prompt(self, message: dict[str, Any], parts: list[dict[str, Any]]) -> None:
        self._agent = self._agent or as_string(message.get("agent"))
        prompts: list[str] = []
        context: list[str] = []
        for part in parts:
            text = as_string(part.get("text"))
            match part.get("type"):
                case "text" if part.get("synthetic") is True or part.get("ignored") is True:
                    context.append(text)
                case "text":
                    prompts.append(text)
                case "subtask":
                    prompts.append(as_string(part.get("prompt")))
        prompt = "\n".join(filter(None, prompts)).strip()
        blobs = parse_files([part for part in parts if part.get("type") == "file"])
        self._is_shell = not prompt and context == [SHELL_NOTICE]
        if prompt or (blobs and not context):
            self._begin_turn(prompt, blobs)
        for text in context:
            if text != SHELL_NOTICE:
                self._add_note("context", text)

    def _begin_turn(self, prompt: str, blobs: Any = ()) -> None:
        self._turns.begin_turn(prompt, blobs)
        self._first_prompt = self._first_prompt or prompt[:MAX_TITLE_CHARS]

    def _add_note(self, kind: Any, text: str) -> None:
        if text.strip():
            self._turns.add_note(kind, text)

    # Answers.

    def _read_answer(self, message: dict[str, Any], parts: list[dict[str, Any]]) -> None:
        is_shell, self._is_shell = self._is_shell, False
        if is_shell and self._read_shell(parts):
            return
        model = parse_model(message)
        self._models = append_unique(self._models, model)
        self._turns.begin_message(str(self._turns.record.mark.offset), model)
        for number, part in enumerate(parts):
            self._read_part(part, f"{self._turns.record.mark.offset}/{number}")
        self._add_usage(message, parts)
        error = parse_error(message.get("error"))
        self._is_interrupted = as_dict(message.get("error")).get("name") == "MessageAbortedError"
        self._add_note("interrupted" if self._is_interrupted else "error", error)

    def _read_shell(self, parts: list[dict[str, Any]]) -> bool:
        """Read a command that the user ran, and its output; return whether there is one."""
        calls = [as_dict(part.get("state")) for part in parts if part.get("type") == "tool"]
        command = as_dict(calls[0].get("input")).get("command") if len(calls) == 1 else None
        if not isinstance(command, str):
            return False
        self._begin_turn(command)
        result = parse_result(calls[0])
        self._add_note("command", result.text if result else "")
        return True

    def _read_part(self, part: dict[str, Any], call_id: str) -> None:
        """Read a part of an answer. The ids that models give their calls may repeat."""
        text = as_string(part.get("text"))
        match part.get("type"):
            case "text" if text:
                self._turns.add_part(Text(text))
            case "reasoning" if text:
                self._turns.add_part(Thinking(text))
            case "text" | "reasoning":
                pass
            case "tool":
                state = as_dict(part.get("state"))
                name = as_string(part.get("tool")) or "unknown"
                self._turns.add_call(call_id, name, state.get("input"))
                if (result := parse_result(state)) is not None:
                    self._turns.add_result(call_id, result)
            case "retry":
                self._add_note("error", parse_error(part.get("error")))
            case kind if as_string(kind) not in IGNORED_PARTS:
                self._unknown = count_type(self._unknown, f"part/{kind}")

    def _add_usage(self, message: dict[str, Any], parts: list[dict[str, Any]]) -> None:
        """Count the tokens of each step. The message itself has those of its last step only."""
        model = parse_model(message)
        created = parse_time(as_dict(message.get("time")).get("created"))
        steps = [part for part in parts if part.get("type") == "step-finish"]
        for number, step in enumerate(steps or [message]):
            usage = parse_tokens(step.get("tokens"), model, created, number)
            if usage is not None and self._turns.count:
                self._turns.add_usage(usage)
        cost = as_amount(message.get("cost"))
        if cost:
            self._costs.append(cost)

    def _make_session(self) -> Session:
        row, identity = self._session, self._input.identity
        parent = as_string(row.parent_id) or as_string(row.file_parent)
        given = given_title(row.title)
        title, is_titled = choose_title([given], self._first_prompt)
        return Session(
            id=identity.id,
            source="opencode",
            kind="subagent" if parent else "main",
            parent=safe_id(parent) if parent else "",
            forked_from=safe_id(row.forked_from) if as_string(row.forked_from) else "",
            agent=(as_string(row.agent) or self._agent) if parent else "",
            project=find_project(as_string(row.directory)),
            cwd=as_string(row.directory),
            title=title,
            title_origin="client" if is_titled else "prompt",
            models=self._models,
            versions=append_unique((), row.version),
            unknown_types=self._unknown,
            cost_usd=sum(self._costs) if self._costs else None,
        )
