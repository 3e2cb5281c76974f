"""Reads Aider's history of a project: one Markdown file to which every run appends.

    # aider chat started at 2026-01-31 10:00:00
    > Model: sonnet with diff edit format
    #### what the user typed
    What the model answered.
    > Applied edit to lamp.py

What the user typed and what Aider printed end with two spaces, unlike a heading or a quotation in
an answer. The file is one session, as for `aider --restore-chat-history`. Its turns have the time
at which their run began.
"""

import os
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.lazy_re import compile_pattern
from ccgrep.model import BadSpot, Session, Text, Usage
from ccgrep.sources.identity import stable_id
from ccgrep.sources.jsonl import Lines, Mark
from ccgrep.sources.reading import Input, Reading, SessionIdentity, SessionReading, make_reading
from ccgrep.sources.scan import FoundFile, Listing
from ccgrep.sources.titles import MAX_TITLE_CHARS, choose_title
from ccgrep.sources.turns import RecordInfo, TurnBuilder
from ccgrep.sources.values import append_unique, as_amount, find_project, usage_key

HISTORY = ".aider.chat.history.md"
_STARTED = "# aider chat started at "
_PRINTED_END = "  \n"
_MODEL = r"(?:Main model|Models?): (\S+) with .*"
_VERSION = r"Aider v(\S+)"
_TOKENS = r"Tokens: (.*? received)\.?(?: Cost: \$([\d.,]+) (?:message|request)\b.*)?"
_COUNT = r"([\d.,]+)([kM]?) (sent|received|cache write|cache hit)"
_UNITS = {"": 1, "k": 1_000, "M": 1_000_000}
_EDITED = r"Applied edit to (.+)"
_NO_PROMPT = "<blank>"
"""What Aider notes when the user presses Enter without a prompt: it does nothing then."""
_OWN_PROMPTS = (
    "# Fix any errors below, if possible.",
    "The LLM did not conform to the edit format",
    "# Question: ",
)
"""How prompts begin that Aider itself sends, after a failed check or with the text of its help."""


class State(Struct, frozen=True, omit_defaults=True):
    """What the reader carries from line to line. Its field names are an on-disk format."""

    time: int | None = None  # when the run began
    has_prompt: bool = False  # in this run
    model: str = ""
    models: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    first_prompt: str = ""
    cost_usd: float | None = None


def list_files(listing: Listing) -> None:
    """Add the history of the project that is the root."""
    listing.add_path(os.path.join(listing.root.path, HISTORY), "session")


def identify(path: str) -> SessionIdentity:
    """Return an id that follows from the project's directory."""
    return SessionIdentity(stable_id("aider", os.path.dirname(path)))


def read(input: Input, found: FoundFile) -> Reading:
    """Read a history to its last complete line."""
    return _AiderReader(input, found).read()


class _AiderReader:
    """Reads the lines of one history, and collects those that belong together."""

    def __init__(self, input: Input, found: FoundFile) -> None:
        self._input = input
        self._cwd = os.path.dirname(found.path)
        self._bad: list[BadSpot] = list(input.checkpoint.bad)
        self._lines = Lines(input.stream, input.start, self._bad)
        self._turns = TurnBuilder(input.sink, input.checkpoint.entries)
        self._state = input.decode_state(State())
        self._kind = ""  # of the lines collected: user, answer or printed
        self._texts: list[str] = []
        self._begun = input.start  # where they begin
        self._before = self._state  # and the state there

    def read(self) -> Reading:
        for line in self._lines:
            if line.endswith(b"\n"):
                self._read_line(line.decode("utf-8", "replace"))
        self._end_group(self._lines.end)
        entries, resume = self._turns.finish()
        session = SessionReading(self._make_session(), tuple(entries), tuple(self._bad))
        resume = resume or (Mark(0, 0), State())
        return make_reading(self._input, self._lines, [session], *resume)

    def _read_line(self, line: str) -> None:
        if line.startswith(_STARTED):
            self._collect("", "")
            time = _parse_local_time(line.removeprefix(_STARTED).strip())
            self._update(time=time, has_prompt=False)
        elif line.startswith("####") and line.endswith(_PRINTED_END):
            self._collect("user", line[4:].removeprefix(" ").rstrip())
        elif line.startswith(">") and line.endswith(_PRINTED_END):
            self._collect("printed", line[1:].strip())
        elif line.strip() or self._kind == "answer":
            self._collect("answer", line.rstrip("\n"))
        elif self._kind == "user":
            self._collect("", "")

    def _collect(self, kind: str, text: str) -> None:
        if kind != self._kind:
            self._end_group(self._lines.end)
            self._kind, self._begun, self._before = kind, self._lines.end, self._state
        if kind:
            self._texts.append(text)

    def _update(self, **changes: Any) -> None:
        self._state = replace(self._state, **changes)

    def _end_group(self, end: Mark) -> None:
        """Read lines of one kind, which end before `end`."""
        kind, texts = self._kind, self._texts
        self._kind, self._texts = "", []
        time = self._state.time
        self._turns.record = RecordInfo(self._begun, end.offset, self._before, time, self._cwd)
        match kind:
            case "user":
                self._read_prompt("\n".join(texts).strip())
            case "answer" if self._state.has_prompt and (text := "\n".join(texts).strip()):
                self._turns.begin_message(str(self._begun.offset), self._state.model)
                self._turns.add_part(Text(text))
            case "printed":
                self._read_printed([text for text in texts if text])

    def _read_prompt(self, prompt: str) -> None:
        if prompt == _NO_PROMPT:
            return
        if prompt.startswith(_OWN_PROMPTS) and self._turns.count:
            self._turns.add_note("notification", prompt)
            return
        command, _, argument = self._turns.current_prompt.partition(" ")
        if command.startswith("/") and argument.strip() == prompt and self._state.has_prompt:
            return  # Aider repeats what follows `/ask`.
        self._update(has_prompt=True)
        self._turns.begin_turn(prompt)
        first = "" if prompt.startswith("/") else prompt
        self._update(first_prompt=self._state.first_prompt or first[:MAX_TITLE_CHARS])

    def _read_printed(self, texts: list[str]) -> None:
        """Read what Aider printed. Before the first prompt of a run, that is a greeting."""
        for text in texts:
            if version := compile_pattern(_VERSION).fullmatch(text):
                self._update(versions=append_unique(self._state.versions, version.group(1)))
            elif model := compile_pattern(_MODEL).fullmatch(text):
                models = append_unique(self._state.models, model.group(1))
                self._update(model=model.group(1), models=models)
            elif tokens := compile_pattern(_TOKENS).fullmatch(text):
                self._add_usage(tokens.group(1), tokens.group(2))
        if self._state.has_prompt and texts:
            self._turns.add_note("command", "\n".join(texts))
            for number, text in enumerate(texts):
                if edited := compile_pattern(_EDITED).fullmatch(text):
                    self._add_edit(edited.group(1), number)

    def _add_edit(self, path: str, number: int) -> None:
        place = f"{self._begun.offset}/{number}"
        self._turns.begin_message(place, self._state.model)
        self._turns.add_call(place, "apply_edit", {"path": path})

    def _add_usage(self, counts: str, cost: str | None) -> None:
        found = {
            what: int(float(number.replace(",", "") or 0) * _UNITS[unit])
            for number, unit, what in compile_pattern(_COUNT).findall(counts)
            if number.replace(",", "").count(".") < 2 and number.strip(".,")
        }
        key = usage_key("aider", self._cwd, self._begun.offset)
        names = ("sent", "received", "cache hit", "cache write")
        if self._state.has_prompt:
            self._turns.add_usage(Usage(key, self._state.model, *map(found.get, names)))
        usd = _parse_amount(cost or "")
        if usd is not None:
            self._update(cost_usd=(self._state.cost_usd or 0) + usd)

    def _make_session(self) -> Session:
        state = self._state
        title, _ = choose_title([], state.first_prompt)
        return Session(
            id=self._input.identity.id,
            source="aider",
            project=find_project(self._cwd),
            cwd=self._cwd,
            title=title,
            title_origin="prompt",
            models=state.models,
            versions=state.versions,
            cost_usd=state.cost_usd,
        )


def _parse_local_time(text: str) -> int | None:
    """Return the time of a run, which Aider writes without a time zone."""
    try:
        return int(datetime.strptime(text, "%Y-%m-%d %H:%M:%S").timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None


def _parse_amount(text: str) -> float | None:
    try:
        return as_amount(float(text.replace(",", "").rstrip(".")))
    except ValueError:
        return None
