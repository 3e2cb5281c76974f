"""Exact search: the full-text index returns the hits of a scan, and `re` confirms them."""

import random
import re
import string
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccgrep.fulltext.terms import trigram_text
from ccgrep.kinds import Mode, TextKind
from ccgrep.search.regex import Matcher, Plan, edge_words, trigrams, whole_words
from ccgrep.search.request import Answer, Request
from tests.helpers import scale
from tests.helpers.homes import Home
from tests.helpers.search_corpus import (
    DISCUSSION,
    SHAPES,
    WORDS,
    Corpus,
    make_corpus,
    places,
    read_turns,
)

PATTERNS = scale.of(200, 1000)
CONFIRMED = scale.of(40, 200)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_corpus(Home(tmp_path_factory.mktemp("exact") / "home"))


class Case(NamedTuple):
    """A pattern, and whether Python's `re` interprets it as RE2 does."""

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
        compiled = re.compile(source, re.IGNORECASE if self.ignore_case else re.NOFLAG)
        return any(compiled.search(line) for line in lines)


def escape(char: str) -> str:
    return f"\\{char}" if char in string.punctuation and char != "_" else char


def flip_case(piece: str, chance: random.Random) -> str:
    """Change the case of some letters, also to their rare variants."""
    flip = {**{c: c.swapcase() for c in string.ascii_letters}, "k": "\u212a", "s": "\u017f"}
    flip |= {"σ": "ς", "Σ": "σ", "ß": "\u1e9e", "å": "\u212b", "é": "É"}
    return "".join(flip.get(char, char) if chance.random() < 0.5 else char for char in piece)


def is_same_in_re(piece: str) -> bool:
    """Return whether RE2 and Python agree on the case of all letters: not on i, İ, ı and Å."""
    return not re.search("[iIİıåÅ\u212b]", piece)


class PatternMaker:
    """Makes patterns from pieces of text that they match, or nearly match."""

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
            return Case(flip_case(piece, chance), "literal", True, False, is_same_in_re(piece))
        if kind == "word":
            word = chance.choice(re.findall(r"\w+", line) or ["x"])
            ignore_case = chance.random() < 0.3
            is_common = not ignore_case or is_same_in_re(word)
            return Case(word, chance.choice(["literal", "regex"]), ignore_case, True, is_common)
        return self.regex(piece, "^" * (start == 0), "$" * (end >= len(line)))

    def regex(self, piece: str, before: str = "", after: str = "") -> Case:
        chance = self._chance
        ignore_case = chance.random() < 0.25
        self._is_common = True
        if chance.random() < 0.2:
            piece = piece.replace(chance.choice(piece), "¤")
        source = self.sequence(flip_case(piece, chance) if ignore_case else piece)
        if chance.random() < 0.25:
            branches = [source, *(self.sequence(chance.choice(WORDS)) for _ in range(2))]
            chance.shuffle(branches)
            source = "|".join(branches[: chance.randrange(1, 4)]).replace("(?P<name>", "(")
        elif chance.random() < 0.5:
            source = f"{before}{source}{after}"
        self._is_common &= not ignore_case or is_same_in_re(source)
        is_inline = ignore_case and chance.random() < 0.5
        source = f"(?i){source}" if is_inline else source
        return Case(source, "regex", ignore_case and not is_inline, False, self._is_common)

    def sequence(self, piece: str) -> str:
        """Return a pattern for `piece`: one part per character, some grouped or quoted."""
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
        chance, plain = self._chance, escape(char)
        if chance.random() < 0.7:
            return plain
        common = [".", f"[{plain}z]", f"[z{plain}-]", "[^\u2603]", f"{plain}+", f"{plain}{{1,3}}",
                  f"(?:{plain}|zz)", f"({plain})", f"~?{plain}", f"(?:~~)*{plain}", f"{plain}?",
                  f"{plain}*?", f"{plain}{{0,2}}", f"[{plain}]{{1}}", "(?:)" + plain]  # fmt: skip
        other = [f"\\x{{{ord(char):x}}}", f"{plain}\\Q\\E{chance.choice(['', '*', '?', '{1}'])}"]
        other += [r"\pL"] * char.isalpha() + [r"\w", "[[:alnum:]]"] * (
            plain in string.ascii_letters
        )
        chosen = chance.choice(common + other)
        self._is_common &= chosen in common
        return chosen


def compare_answers(corpus: Corpus, seed: int, number: int) -> dict[str, int]:
    """Compare index, scan and `re`; return how many patterns there were, matched and so on."""
    figures = dict.fromkeys(("patterns", "matching", "hits", "confirmed"), 0)
    cases = PatternMaker(random.Random(seed), corpus.lines).cases()
    for case in islice(cases, number):
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
                    (t.place, [x for k in types or DISCUSSION for x in t.lines[k]])
                    for t in corpus.turns
                )
                assert places(indexed) == {at for at, text in lines if case.matches(text)}, case
        figures["patterns"] += 1
        figures["confirmed"] += is_confirmed
    return figures


def test_index_returns_the_hits_of_a_scan(corpus: Corpus, figure: Callable[[str], None]) -> None:
    figures = compare_answers(corpus, 1, PATTERNS)
    counts = ", ".join(f"{number} {name}" for name, number in figures.items())
    figure(f"exact search: {counts}; the index returns the hits of a scan")
    assert figures["patterns"] == PATTERNS and figures["matching"] * 3 >= PATTERNS
    assert figures["confirmed"] == CONFIRMED


def test_a_limited_search_returns_the_first_hits_of_a_scan(
    corpus: Corpus, figure: Callable[[str], None]
) -> None:
    chance = random.Random(5)
    stopped = 0
    for case in islice(PatternMaker(chance, corpus.lines).cases(), PATTERNS):
        request = case.request(chance.choice([(), ("tool",)]))._replace(
            limit=chance.randrange(1, 6),
            per_session=chance.choice([0, 0, 1, 2]),
            invert=chance.random() < 0.1,
        )
        indexed = corpus.indexed(request._replace(needs_total=False))
        scanned = corpus.scanned_from_memory(request)
        assert indexed.hits == scanned.hits, (case, request)
        assert indexed.total <= scanned.total
        assert indexed.total == scanned.total or not indexed.is_total
        stopped += not indexed.is_total
    figure(f"exact search: {stopped} of {PATTERNS} limited searches stopped early")
    assert stopped * 20 > PATTERNS


def admits(plan: Plan | str | None, matcher: Matcher, line: str) -> bool:
    """Return whether a plan lets a line through."""
    if plan is None:
        return True
    if isinstance(plan, Plan):
        combine = all if plan.kind == "all" else any
        return combine(admits(part, matcher, line) for part in plan.parts)
    is_contained = matcher.ignore_case or plan in line
    words = re.findall("[a-z0-9]+", line.lower())
    return (
        is_contained
        and all(gram in trigram_text(line) for gram in trigrams(plan, matcher.ignore_case))
        and all(word.lower() in words for word in whole_words(plan, matcher.ignore_case))
        and all(
            any(re.fullmatch(pattern, word) for word in words)
            for pattern in edge_words(plan, matcher.ignore_case)
        )
    )


@settings(max_examples=scale.of(120, 1500), deadline=None)
@given(st.sampled_from(WORDS), st.sampled_from(SHAPES), st.integers(0, 10**6), st.integers(0, 40))
def test_plan_admits_every_match(word: str, shape: str, seed: int, start: int) -> None:
    line = shape.format(word, "x", "y", n=seed) or word
    start = min(start, len(line) - 1)
    case = PatternMaker(random.Random(seed), [line]).case(line, start, start + 3 + seed % 12)
    is_literal = case.mode == "literal"
    matcher = Matcher((case.pattern,), is_literal, case.ignore_case, case.whole_word)
    for at in range(len(line)):
        other = line[:at] + line[at + 1 :] if at else line
        if matcher.count(other.encode()):
            assert admits(matcher.plan, matcher, other), (case, matcher.plan)


@pytest.mark.parametrize("pattern", [r"\Qa.b", r"x|\Qa.b", r"(?i)\QA.B", r"(a).\Qb"])
def test_quotation_may_end_with_the_pattern(pattern: str) -> None:
    for whole_word in (False, True):
        assert Matcher((pattern, "zz"), False, False, whole_word).count(b"see a.b there") == 1


@pytest.mark.parametrize("length", range(61, 68))
def test_words_that_are_too_long_for_the_index_are_found(home: Home, length: int) -> None:
    """A SHA-256 has 64 digits."""
    word = "0" * length
    file = home.claude(1)
    file.turn("look", "done", f"sum --check {word} file", f"got {word} for it")
    file.blocks({"type": "thinking", "thinking": f"so {word} it is"})
    file.write()
    home.index()
    corpus = Corpus(home, read_turns(file.path))
    pieces: dict[str, TextKind] = {f"check {word} f": "tool", f"t {word} f": "tool"}
    pieces[f" {word} "] = "thinking"
    for piece, kind in pieces.items():
        request = Case(piece, "literal").request((kind,))
        assert corpus.indexed(request) == corpus.scanned(request) != Answer([], 0, "exact")


@pytest.mark.parametrize("run", ["0" * 255, "0" * 256, "0" * 300, "検" * 85, "検" * 86, "क्" * 60])
def test_parts_of_words_that_the_index_drops_are_found(home: Home, run: str) -> None:
    """The index drops words of 256 bytes."""
    text = f"so {run}needle{run} it is"
    file = home.claude(1)
    file.turn("look", "done", f"check {text}", "nothing")
    file.turn("look", "done", "check", f"got {text}")
    file.blocks({"type": "thinking", "thinking": text})
    file.turn("look", "done", "check", "nothing")
    file.write()
    home.index()
    corpus = Corpus(home, read_turns(file.path))
    counts: dict[TextKind, int] = {"tool": 2, "thinking": 1}
    for kind, count in counts.items():
        for ignore_case in (False, True):
            request = Case("eedl", "literal", ignore_case).request((kind,))
            assert corpus.indexed(request) == corpus.scanned(request)
            assert corpus.indexed(request).total == count
