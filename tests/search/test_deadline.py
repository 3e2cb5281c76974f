"""Exact searches stop at their deadline, and no pattern takes exponential time.

The tests replace the clock and the matcher, so they do not depend on how fast the machine is.
"""

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

import pytest

from ccgrep.errors import UsageError
from ccgrep.fulltext.reader import NO_ADDRESS
from ccgrep.fulltext.reader import Hit as DocumentHit
from ccgrep.search import exact_search
from ccgrep.search.exact_search import Candidate, search_exact
from ccgrep.search.regex import MAX_PATTERN_CHARS, Matcher
from ccgrep.search.request import Place, Request

CANDIDATES = 5
TEXT_CHARS = 4000
TEXTS = {
    "one letter": "a" * TEXT_CHARS,
    "one letter and an end": "a" * (TEXT_CHARS - 1) + "!",
    "two letters": "ab" * (TEXT_CHARS // 2),
    "words": "aaaa bbbb " * (TEXT_CHARS // 10),
    "an address": "a@a." * (TEXT_CHARS // 4),
    "tags": "<a a='a'>" * (TEXT_CHARS // 9),
}
EVIL = (
    "(a+)+$", "(a+)+b", "(a*)*b", "(a*)*$", "(a|a)*$", "(a|aa)+$", "(a|a?)+$", "(a|b|ab)*c",
    "([a-zA-Z]+)*$", "(.*a){20}$", "(.*a){50}", "(a?){20}a{20}", "(a?){100}a{100}", "(a?){500}b",
    "a.*b|a", "a.*b.*c.*d|a", "a.*a.*a.*a.*!|a", "(a?){20}a{20}b|a", "(?:a|ab|abc)+d|a", ".*.*=.*",
    ".*.*.*.*!", "(.*)(.*)(.*)(.*)$", "(.+)+=", "(.+)*=", "^(a+)+$", "^(([a-z])+.)+[A-Z]([a-z])+$",
    "^([a-zA-Z0-9])(([._-])?([a-zA-Z0-9]))*@", "([a-z0-9]+@[a-z]+[.])+$", r"(\w+\s*)+:",
    r"\s*\s*\s*\s*x", r"(\pL+)*\d", "(?i)(a+)+s", "(?s).*.*.*q|a", "(a{1,30}){1,30}",
    "(a{0,50}b{0,50}){0,10}c", "[^b]*[^c]*[^d]*e", "[a-z]*[a-z]*[a-z]*[0-9]", "(<a[^>]*>)*</b>",
    "<(.*)>(.*)</(.*)>|<", "('[^']*'|a)*$", "((a|b)*(c|d)*)*e", "(((a+)+)+)+$", "((a*)+)*b",
    "(a+b?)+c|a", "(ab|a|b)+$", "((ab)*(ba)*)*c", "a*a*a*a*a*a*a*b|a", "a|aa|aaa|aaaa|a{900}",
    "a{1000}|a", ".{1000}|.", "(x|a{999})|a", "|a", "a*", r"(\s*a)*z",
)  # fmt: skip


HOUR_S = 3600


class Clock:
    """A clock of CPU time that advances by an hour with each call from the searching thread.

    There is no other clock, so a search that looks at the time of day fails.

    The main thread waits for that thread in real time: an hour is long enough for any machine.
    """

    def __init__(self, wait_for: threading.Event | None = None) -> None:
        self.now = 0.0
        self._main = threading.get_ident()
        self._wait_for = wait_for
        self._is_started = False

    def process_time(self) -> float:
        if threading.get_ident() != self._main:
            self.now += HOUR_S
        elif not self._is_started:  # The main thread computes how long to wait.
            self._is_started = True
            if self._wait_for is None:
                return 0.0
            self._wait_for.wait()
        return self.now


class FakeMatcher(Matcher):
    def __init__(self, count: Callable[[bytes], int]) -> None:
        super().__init__(("x",), True, False, False)
        self._count = count

    def count(self, data: bytes) -> int:
        return self._count(data)


def candidates() -> list[Candidate]:
    return [
        Candidate(
            DocumentHit(0.0, NO_ADDRESS, 1, 0, number, number, 0, 0),
            Place("session", number),
            [b"text %d" % number],
        )
        for number in range(CANDIDATES)
    ]


def request(deadline: float | None) -> Request:
    return Request(("x",), "regex", limit=0, deadline=deadline)


@pytest.mark.parametrize("deadline", range(1, CANDIDATES + 1))
def test_search_stops_at_the_deadline_and_keeps_the_hits_so_far(
    monkeypatch: pytest.MonkeyPatch, deadline: int
) -> None:
    monkeypatch.setattr(exact_search, "time", Clock())
    matcher = FakeMatcher(lambda _: 1)
    answer = search_exact(candidates(), matcher, request(deadline * HOUR_S), 0)
    assert {hit.place.turn for hit in answer.hits} == set(range(deadline))
    assert answer.is_cut_short == (deadline < CANDIDATES)


def test_match_that_does_not_return_is_abandoned_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_stuck, is_released = threading.Event(), threading.Event()

    def count(text: bytes) -> int:
        if text == b"text 2":  # the last one: later the thread would use another test's clock
            is_stuck.set()
            is_released.wait()
        return 1

    monkeypatch.setattr(exact_search, "time", Clock(wait_for=is_stuck))
    answer = search_exact(candidates()[:3], FakeMatcher(count), request(3 * HOUR_S), 0)
    is_released.set()
    assert {hit.place.turn for hit in answer.hits} == {0, 1}
    assert answer.is_cut_short


def test_error_in_the_searching_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_text: bytes) -> NoReturn:
        raise UsageError("no such thing")

    monkeypatch.setattr(exact_search, "time", Clock())
    with pytest.raises(UsageError, match="no such thing"):
        search_exact(candidates(), FakeMatcher(fail), request(HOUR_S), 0)


def test_process_exits_without_waiting_for_an_abandoned_match() -> None:
    program = (
        "import threading, time; from ccgrep.search.exact_search import _run_until; "
        "print(_run_until(time.process_time(), threading.Event().wait))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


@pytest.mark.parametrize("pattern", EVIL)
def test_evil_pattern_completes(pattern: str) -> None:
    """A backtracking matcher would never finish."""
    matcher = Matcher((pattern,), False, False, False)
    for text in TEXTS.values():
        assert 0 <= matcher.count(text.encode()) <= 1000


@pytest.mark.parametrize("is_literal", [True, False])
def test_too_long_pattern_is_rejected(is_literal: bool) -> None:
    pattern = "(a?)" * (MAX_PATTERN_CHARS // 4)
    Matcher((pattern,), is_literal, False, False)
    with pytest.raises(UsageError, match="longer than 4096 characters"):
        Matcher((pattern + "a",), is_literal, False, False)
