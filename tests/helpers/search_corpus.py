"""A store with a few hundred random turns, and the same turns read without ccgrep's readers."""

import json
import random
import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ccgrep.kinds import TextKind
from ccgrep.ops.search import search
from ccgrep.search.exact_search import Candidate, search_exact
from ccgrep.search.regex import Matcher
from ccgrep.search.request import Answer, Filters, Place, Request
from ccgrep.search.searcher import Searcher, SearchOptions
from ccgrep.search.store_scan import StoreScan
from tests.helpers.homes import Home
from tests.helpers.transcripts import ClaudeFile, CodexFile

KINDS: tuple[TextKind, ...] = ("user", "assistant", "tool", "thinking")
_COLOR = re.compile(r"\x1b\[[0-9;:]*[mK]")
DISCUSSION: tuple[TextKind, ...] = ("user", "assistant")
WORDS = (
    "parser Parser PARSER skill SKILL mask mas\u017f \u017fkill \u212aelvin kelvin naïve σίσυφος "
    "nai\u0308ve straße STRASSE stra\u1e9ee Σίσυφος ΣΊΣΥΦΟΣ İstanbul istanbul ISTANBUL 日本語 検索 "
    "😀 getUserName auth_token x86_64 retry café Ångström \u212bngström ﬁnd find a.b C++ don't"
).split()
SHAPES = (
    "def {0}({1}: int) -> None:", "    return {0}[{n}] * 0x{n:x}", "{0} {1} {2}, {0}.", "{0}{1}",
    "git commit -m '{0} {1}' --no-verify", "/src/{0}/{1}.py:{n}: error E{n}", "- [x] {0}: {1}",
    "https://example.com/{0}?q={1}&n={n}", "{0}\t{1}\r", "({0}|{1})*^${{{n}}}\\{2}", "", " {0} ",
    "sha256 {n:064x} {0}", "{n:x}-{0}-{n:08d}", "「{0}」と{1}を{2}", "\u200b{0}\x1b[3{n}m{1}",
    "plum", "plum",
)  # fmt: skip


class ExpectedTurn(NamedTuple):
    """A turn as its transcript has it, read with nothing but `json`."""

    place: Place
    record: dict[str, Any]  # the first one
    is_subagent: bool
    models: set[str]
    tools: set[str]
    lines: dict[TextKind, list[str]]


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def read_turns(path: Path) -> list[ExpectedTurn]:
    """Return the turns of a transcript that `make_corpus` wrote."""
    turns: list[ExpectedTurn] = []
    head: dict[str, Any] = {}
    for record in map(json.loads, path.read_bytes().splitlines()):
        payload = record.get("payload", {})
        if record["type"] == "session_meta":
            head = {"cwd": payload["cwd"], "gitBranch": payload["git"]["branch"]}
        message = record.get("message") or (payload if payload.get("type") == "message" else {})
        content = message.get("content") or []
        if message.get("role") == "user" and (isinstance(content, str) or head):
            place = Place(path.stem[-36:] if head else path.stem, len(turns))
            typed = content if isinstance(content, str) else content[0]["text"]
            texts: dict[TextKind, list[str]] = {kind: [] for kind in KINDS}
            texts["user"].append(typed)
            first = {**record, **head, "source": "codex" if head else "claude_code"}
            turns.append(ExpectedTurn(place, first, "subagents" in path.parts, set(), set(), texts))
            continue
        for block in content:
            _, _, _, models, tools, texts = turns[-1]
            text = block.get("text", "") + block.get("thinking", "")
            if block["type"] == "tool_result":
                texts["tool"].append(block["content"])
            elif block["type"] == "tool_use":
                tools.add(block["name"].lower())
                texts["tool"] += [block["name"], *strings(block["input"])]
            else:
                texts["thinking" if block["type"] == "thinking" else "assistant"].append(text)
            if text or block["type"] == "tool_use":
                models.add(message.get("model", "gpt-5-codex"))
    for turn in turns:
        for kind, texts_of_kind in turn.lines.items():  # An empty text has no line, as in grep.
            is_empty = not any(texts_of_kind)
            text = _COLOR.sub("", "\n".join(texts_of_kind))  # A search does not see colors.
            turn.lines[kind] = [] if is_empty else text.split("\n")
    return turns


class Corpus:
    """A store with the turns that are expected in it."""

    def __init__(self, home: Home, turns: list[ExpectedTurn]) -> None:
        self.home = home
        self.turns = turns
        self.ids = sorted({turn.place.session for turn in turns})
        self.lines = [
            line for turn in turns for kind in KINDS for line in turn.lines[kind] if line.strip()
        ]
        self._scans: dict[tuple[TextKind, ...], list[Candidate]] = {}

    @cached_property
    def searcher(self) -> Searcher:
        searcher = search(self.home.config, Request(("x",)), SearchOptions()).searcher
        # Which turns are read is what these tests check, so reading each once is enough.
        searcher.__dict__["turn"] = cache(searcher.turn)
        return searcher

    def indexed(self, request: Request) -> Answer:
        return self.searcher.run(request)[0]

    def scanned(self, request: Request) -> Answer:
        return search(self.home.config, request, SearchOptions(use_index=False)).answer

    @cached_property
    def _scan(self) -> StoreScan:
        return StoreScan(self.home.store, Filters())

    def scanned_from_memory(self, request: Request) -> Answer:
        """Return the answer of a scan without reading the store each time."""
        if request.types not in self._scans:
            self._scans[request.types] = list(self._scan.candidates(request))
        options = (request.mode != "regex", request.ignore_case, request.whole_word)
        matcher = Matcher(request.patterns, *options)
        return search_exact(self._scans[request.types], matcher, request, self._scan.newest)


def make_text(chance: random.Random, end: int = 4) -> str:
    lines = [
        chance.choice(SHAPES).format(*chance.choices(WORDS, k=3), n=chance.randrange(10_000))
        for _ in range(chance.randrange(1, end))
    ]
    return "\n".join(lines)


def write_turn(file: ClaudeFile | CodexFile, chance: random.Random, number: int) -> None:
    file.now_ms += chance.randrange(3) * 86_400_000
    if isinstance(file, CodexFile):
        file.turn(f"{number} {make_text(chance)}".strip(), f"done {make_text(chance)}")
        return
    fields: dict[str, Any] = {"gitBranch": chance.choice(["main", "fix/login", "Main", "dev"])}
    file.prompt(f"{number} {make_text(chance)}", **fields)
    if chance.random() < 0.6:
        given = {"command": make_text(chance, 3), "n": [make_text(chance, 2)]}
        name = chance.choice(["Bash", "Read", "mcp__db__query"])
        file.result(file.call(name, given, **fields), make_text(chance, 6))
    model = chance.choice(["claude-opus-4-6", "claude-haiku-4-5"])
    if chance.random() < 0.5:
        file.blocks({"type": "thinking", "thinking": make_text(chance)}, model=model, **fields)
    file.answer(make_text(chance), model=model, **fields)


def make_corpus(home: Home) -> Corpus:
    """Index a few hundred turns in steps; fork, rewrite and delete transcripts between them."""
    chance = random.Random(3)
    files: list[Any] = []
    for number in range(20):
        cwd = chance.choice(["/src/shop", "/src/Shop/api", "/src", "/other/x", ""])
        file: Any = home.claude(number + 1, cwd=cwd, slug=f"-s{number % 5}")
        if number % 5 == 4:
            file = home.codex(number, cwd=cwd)
            file.meta()
        elif number % 5 == 3:
            file = home.subagent(files[-1], f"agent-{number:08}", seed=number + 50)
        files.append(file)
    for step in range(3):
        for file in files:
            for number in range(chance.randrange(2, 7)):
                write_turn(file, chance, 10 * step + number)
            file.write()
        home.index()
    first, rewritten, vanished = files[:3]
    fork = first.fork(first.path.parent, len(first.records) // 2, seed=99)
    del rewritten.records[len(rewritten.records) // 2 :]
    for number, file in enumerate((fork, rewritten), 90):
        write_turn(file, chance, number)
        file.write()
    turns = [turn for file in (*files, fork) for turn in read_turns(file.path)]
    vanished.path.unlink()
    home.index()
    return Corpus(home, turns)


def places(answer: Answer) -> set[Place]:
    """Return the places of the hits, except in superseded sessions, which have no transcript."""
    all_places = {place for hit in answer.hits for place in (hit.place, *hit.also_in)}
    return {place for place in all_places if "~" not in place.session}


def started(turn: ExpectedTurn) -> int:
    return round(datetime.fromisoformat(turn.record["timestamp"]).timestamp() * 1000)
