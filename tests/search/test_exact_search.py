"""Exact search: the index gives what reading every turn gives, and that is what is there."""

import json
import random
import re
import string
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccgrep.fulltext.terms import gram_text
from ccgrep.kinds import Mode, TextKind
from ccgrep.ops.search import search
from ccgrep.search.exact_search import Candidate, search_exact
from ccgrep.search.regex import Matcher, Plan, trigrams, whole_words
from ccgrep.search.request import Answer, Filters, Place, Request
from ccgrep.search.searcher import Searcher, SearchOptions
from ccgrep.search.store_scan import StoreScan
from tests.helpers import scale
from tests.helpers.homes import Home
from tests.helpers.transcripts import ClaudeFile, CodexFile

PATTERNS = 1000
CONFIRMED = 200
KINDS: tuple[TextKind, ...] = ("user", "assistant", "tool", "thinking")
SAID: tuple[TextKind, ...] = ("user", "assistant")
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


class Said(NamedTuple):
    """A turn as its transcript has it, read with nothing but `json`."""

    place: Place
    record: dict[str, Any]  # its first
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


def turns_in(path: Path) -> list[Said]:
    """The turns of a transcript, as the builder of this test writes them."""
    found: list[Said] = []
    head: dict[str, Any] = {}
    for record in map(json.loads, path.read_bytes().splitlines()):
        payload = record.get("payload", {})
        if record["type"] == "session_meta":
            head = {"cwd": payload["cwd"], "gitBranch": payload["git"]["branch"]}
        message = record.get("message") or (payload if payload.get("type") == "message" else {})
        content = message.get("content") or []
        if message.get("role") == "user" and (isinstance(content, str) or head):
            place = Place(path.stem[-36:] if head else path.stem, len(found))
            typed = content if isinstance(content, str) else content[0]["text"]
            said: dict[TextKind, list[str]] = {kind: [] for kind in KINDS}
            said["user"].append(typed)
            first = {**record, **head, "source": "codex" if head else "claude_code"}
            found.append(Said(place, first, "subagents" in path.parts, set(), set(), said))
            continue
        for block in content:
            _, _, _, models, tools, said = found[-1]
            spoken = block.get("text", "") + block.get("thinking", "")
            if block["type"] == "tool_result":
                said["tool"].append(block["content"])
            elif block["type"] == "tool_use":
                tools.add(block["name"].lower())
                said["tool"] += [block["name"], *strings(block["input"])]
            else:
                said["thinking" if block["type"] == "thinking" else "assistant"].append(spoken)
            if spoken or block["type"] == "tool_use":
                models.add(message.get("model", "gpt-5-codex"))
    for one in found:
        for kind, texts in one.lines.items():  # No text has no line, as an empty file.
            one.lines[kind] = "\n".join(texts).split("\n") if any(texts) else []
    return found


class Corpus:
    def __init__(self, home: Home, turns: list[Said]) -> None:
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
        # Turns are read once: what is tested is which of them are looked at.
        searcher.__dict__["turn"] = cache(searcher.turn)
        return searcher

    def indexed(self, request: Request) -> Answer:
        return self.searcher.run(request)[0]

    def scanned(self, request: Request) -> Answer:
        how = SearchOptions(use_index=False)
        return search(self.home.config, request, how).answer

    @cached_property
    def _scan(self) -> StoreScan:
        return StoreScan(self.home.store, Filters())

    def scanned_from_memory(self, request: Request) -> Answer:
        """The same, without reading the store each time."""
        if request.types not in self._scans:
            self._scans[request.types] = list(self._scan.candidates(request))
        options = (request.mode != "regex", request.ignore_case, request.whole_word)
        matcher = Matcher(request.patterns, *options)
        return search_exact(self._scans[request.types], matcher, request, self._scan.newest)


def text(chance: random.Random, most: int = 4) -> str:
    lines = [
        chance.choice(SHAPES).format(*chance.choices(WORDS, k=3), n=chance.randrange(10_000))
        for _ in range(chance.randrange(1, most))
    ]
    return "\n".join(lines)


def write_turn(file: ClaudeFile | CodexFile, chance: random.Random, number: int) -> None:
    file.now_ms += chance.randrange(3) * 86_400_000
    if isinstance(file, CodexFile):
        file.turn(f"{number} {text(chance)}".strip(), f"done {text(chance)}")
        return
    fields: dict[str, Any] = {"gitBranch": chance.choice(["main", "fix/login", "Main", "dev"])}
    file.prompt(f"{number} {text(chance)}", **fields)
    if chance.random() < 0.6:
        given = {"command": text(chance, 3), "n": [text(chance, 2)]}
        name = chance.choice(["Bash", "Read", "mcp__db__query"])
        file.result(file.call(name, given, **fields), text(chance, 6))
    model = chance.choice(["claude-opus-4-6", "claude-haiku-4-5"])
    if chance.random() < 0.5:
        file.blocks({"type": "thinking", "thinking": text(chance)}, model=model, **fields)
    file.answer(text(chance), model=model, **fields)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_corpus(Home(tmp_path_factory.mktemp("exact") / "home"))


def make_corpus(home: Home) -> Corpus:
    """A few hundred turns, taken in by steps, with all that happens to transcripts meanwhile."""
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
    turns = [turn for file in (*files, fork) for turn in turns_in(file.path)]
    vanished.path.unlink()
    home.index()
    return Corpus(home, turns)


def places(answer: Answer) -> set[Place]:
    """Where the hits are; what stood in a rewritten file is not in any transcript."""
    found = {place for hit in answer.hits for place in (hit.place, *hit.also_in)}
    return {place for place in found if "~" not in place.session}


# Patterns.


class Case(NamedTuple):
    """A pattern, and whether Python's `re` means the same by it."""

    pattern: str
    mode: Mode
    ignore_case: bool = False
    whole_word: bool = False
    is_common: bool = True

    def request(self, types: tuple[TextKind, ...] = ()) -> Request:
        options = {"ignore_case": self.ignore_case, "whole_word": self.whole_word}
        return Request((self.pattern,), self.mode, types=types, limit=0, **options)  # type: ignore[arg-type]

    def matches(self, lines: Sequence[str]) -> bool:
        if self.mode == "literal" and not (self.ignore_case or self.whole_word):
            return any(self.pattern in line for line in lines)
        source = re.escape(self.pattern) if self.mode == "literal" else self.pattern
        if self.whole_word:
            source = rf"(?<!\w)(?:{source})(?!\w)"
        compile_pattern = re.compile(source, re.IGNORECASE if self.ignore_case else re.NOFLAG)
        return any(compile_pattern.search(line) for line in lines)


def quoted(char: str) -> str:
    return f"\\{char}" if char in string.punctuation and char != "_" else char


def flipped(piece: str, chance: random.Random) -> str:
    """Another case of the same letters."""
    flip = {**{c: c.swapcase() for c in string.ascii_letters}, "k": "\u212a", "s": "\u017f"}
    flip |= {"σ": "ς", "Σ": "σ", "ß": "\u1e9e", "å": "\u212b", "é": "É"}
    return "".join(flip.get(char, char) if chance.random() < 0.5 else char for char in piece)


def is_same_in_re(piece: str) -> bool:
    """Without regard to case Python equates i, İ and ı, and has another idea of Å."""
    return not re.search("[iIİıåÅ\u212b]", piece)


class Maker:
    """Makes patterns that match a given piece of text, by construction."""

    def __init__(self, chance: random.Random, lines: Sequence[str]) -> None:
        self._chance = chance
        self._lines = lines
        self._is_common = True

    def cases(self) -> Iterator[Case]:
        while True:
            line = self._chance.choice(self._lines)
            start = self._chance.randrange(len(line))
            longest = self._chance.choice([14, 14, 14, 100])
            case = self.case(line, start, start + self._chance.randrange(1, longest))
            if case.pattern.strip():
                yield case

    def case(self, line: str, start: int, end: int) -> Case:
        chance = self._chance
        kind = chance.choice(["literal", "flipped", "word", "missing", *["regex"] * 5])
        piece = line[start:end]
        if kind == "literal":
            return Case(piece, "literal")
        if kind == "missing":
            return Case(piece[:2] + chance.choice("xé日k ") + piece[2:], "literal")
        if kind == "flipped":
            return Case(flipped(piece, chance), "literal", True, False, is_same_in_re(piece))
        if kind == "word":
            word = chance.choice(re.findall(r"\w+", line) or ["x"])
            ignore_case = chance.random() < 0.3
            is_common = not ignore_case or is_same_in_re(word)
            return Case(word, chance.choice(["literal", "regex"]), ignore_case, True, is_common)
        return self.regex(piece, "^" * (start == 0), "$" * (end >= len(line)))

    def regex(self, piece: str, before: str = "", behind: str = "") -> Case:
        chance = self._chance
        ignore_case = chance.random() < 0.25
        self._is_common = True
        if chance.random() < 0.2:
            piece = piece.replace(chance.choice(piece), "¤")
        source = self.sequence(flipped(piece, chance) if ignore_case else piece)
        if chance.random() < 0.25:
            branches = [source, *(self.sequence(chance.choice(WORDS)) for _ in range(2))]
            chance.shuffle(branches)
            source = "|".join(branches[: chance.randrange(1, 4)]).replace("(?P<name>", "(")
        elif chance.random() < 0.5:
            source = f"{before}{source}{behind}"
        self._is_common &= not ignore_case or is_same_in_re(source)
        is_inline = ignore_case and chance.random() < 0.5
        source = f"(?i){source}" if is_inline else source
        return Case(source, "regex", ignore_case and not is_inline, False, self._is_common)

    def sequence(self, piece: str) -> str:
        """What matches `piece`: a part for each character, sometimes grouped or quoted."""
        chance = self._chance
        if len(piece) > 3 and chance.random() < 0.3:
            at = chance.randrange(1, len(piece) - 1)
            forms = ["({})", "(?:{})", "(?P<name>{})", "(?:{}|q+)", "(?:{})+", "({}){{1,2}}"]
            tail = self.sequence(piece[at:]).replace("(?P<name>", "(")
            head = self.sequence(piece[:at]).replace("(?P<name>", "(")
            return head + chance.choice(forms).format(tail)
        if len(piece) > 2 and "\\" not in piece and chance.random() < 0.1:
            self._is_common = False
            return rf"\Q{piece}\E{chance.choice(['', '', '*', '+', '?'])}"
        return "".join(self.character(char) for char in piece)

    def character(self, char: str) -> str:
        chance, plain = self._chance, quoted(char)
        if chance.random() < 0.7:
            return plain
        common = [".", f"[{plain}z]", f"[z{plain}-]", "[^\u2603]", f"{plain}+", f"{plain}{{1,3}}",
                  f"(?:{plain}|zz)", f"({plain})", f"~?{plain}", f"(?:~~)*{plain}", f"{plain}?",
                  f"{plain}*?", f"{plain}{{0,2}}", f"[{plain}]{{1}}", "(?:)" + plain]  # fmt: skip
        other = [f"\\x{{{ord(char):x}}}", f"{plain}\\Q\\E{chance.choice(['', '*', '?', '{1}'])}"]
        other += [r"\pL"] * char.isalpha() + [r"\w", "[[:alnum:]]"] * (
            plain in string.ascii_letters
        )
        made = chance.choice(common + other)
        self._is_common &= made in common
        return made


def check(corpus: Corpus, seed: int, number: int) -> dict[str, int]:
    """Compares answers; gives how many patterns there were, matched and were confirmed."""
    figures = dict.fromkeys(("patterns", "matching", "hits", "confirmed"), 0)
    made = Maker(random.Random(seed), corpus.lines).cases()
    for case in islice(made, number):
        odd: TextKind = "tool" if figures["patterns"] % 2 else "thinking"
        is_confirmed = case.is_common and figures["confirmed"] < CONFIRMED
        for types in ((), (odd,)):
            request = case.request(types)
            indexed = corpus.indexed(request)
            assert indexed == corpus.scanned_from_memory(request), (case, types)
            if figures["patterns"] % 20 == 0:
                assert indexed == corpus.scanned(request), (case, types)
            figures["matching"] += bool(indexed.hits) and not types
            figures["hits"] += indexed.total
            if is_confirmed:
                lines = (
                    (t.place, [x for k in types or SAID for x in t.lines[k]]) for t in corpus.turns
                )
                assert places(indexed) == {at for at, said in lines if case.matches(said)}, case
        figures["patterns"] += 1
        figures["confirmed"] += is_confirmed
    return figures


def test_the_index_gives_what_reading_every_turn_gives(
    corpus: Corpus, figure: Callable[[str], None]
) -> None:
    figures = check(corpus, 1, PATTERNS)
    told = ", ".join(f"{number} {name}" for name, number in figures.items())
    figure(f"exact search: {told}; the index gives what a scan gives")
    assert figures["patterns"] == PATTERNS and figures["matching"] * 3 >= PATTERNS
    assert figures["confirmed"] == CONFIRMED


# The plan of a pattern: what every match has.


def holds(plan: Plan | str | None, matcher: Matcher, line: str) -> bool:
    """Whether a line is among those that the plan lets through."""
    if plan is None:
        return True
    if isinstance(plan, Plan):
        test = all if plan.kind == "all" else any
        return test(holds(part, matcher, line) for part in plan.parts)
    is_there = plan in line if not matcher.ignore_case else True
    words = re.findall("[a-z0-9]+", line.lower())
    return (
        is_there
        and all(gram in gram_text(line) for gram in trigrams(plan, matcher.ignore_case))
        and all(word.lower() in words for word in whole_words(plan, matcher.ignore_case))
    )


@settings(max_examples=scale.of(600, 1500), deadline=None)
@given(st.sampled_from(WORDS), st.sampled_from(SHAPES), st.integers(0, 10**6), st.integers(0, 40))
def test_every_match_has_what_the_plan_asks_for(
    word: str, shape: str, seed: int, start: int
) -> None:
    line = shape.format(word, "x", "y", n=seed) or word
    start = min(start, len(line) - 1)
    case = Maker(random.Random(seed), [line]).case(line, start, start + 3 + seed % 12)
    is_literal = case.mode == "literal"
    matcher = Matcher((case.pattern,), is_literal, case.ignore_case, case.whole_word)
    for at in range(len(line)):
        other = line[:at] + line[at + 1 :] if at else line
        if matcher.count(other.encode()):
            assert holds(matcher.plan, matcher, other), (case, matcher.plan)


@pytest.mark.parametrize("pattern", [r"\Qa.b", r"x|\Qa.b", r"(?i)\QA.B", r"(a).\Qb"])
def test_a_quotation_may_end_with_the_pattern(pattern: str) -> None:
    for whole_word in (False, True):
        assert Matcher((pattern, "zz"), False, False, whole_word).count(b"see a.b there") == 1


@pytest.mark.parametrize("length", range(61, 68))
def test_long_words_are_found_where_the_index_has_none(home: Home, length: int) -> None:
    """A SHA-256 has 64 digits."""
    word = "0" * length
    file = home.claude(1)
    file.turn("look", "done", f"sum --check {word} file", f"got {word} for it")
    file.blocks({"type": "thinking", "thinking": f"so {word} it is"})
    file.write()
    home.index()
    corpus = Corpus(home, turns_in(file.path))
    pieces: dict[str, TextKind] = {f"check {word} f": "tool", f"t {word} f": "tool"}
    pieces[f" {word} "] = "thinking"
    for piece, kind in pieces.items():
        request = Case(piece, "literal").request((kind,))
        assert corpus.indexed(request) == corpus.scanned(request) != Answer([], 0, "exact")


@pytest.mark.parametrize(
    ("pattern", "length"), [("a", 300_000), ("a.*b|a", 60_000), ("(a?){20}a{20}b|a", 60_000)]
)
def test_no_pattern_takes_much_longer_than_it_may(home: Home, pattern: str, length: int) -> None:
    """A line of which each character is a match, or the beginning of what may become one."""
    file = home.claude(1)
    file.turn("go", "a" * length)
    file.write()
    home.index()
    command = [sys.executable, "-m", "ccgrep", "--timeout", "1", "-E", pattern]
    started = time.monotonic()
    done = subprocess.run(
        command, env=home.environment, capture_output=True, timeout=6, check=False
    )
    assert done.returncode in (0, 2)
    assert time.monotonic() - started < 3
