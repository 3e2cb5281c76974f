"""No pattern takes longer than it may: what is not finished by then is left out, and said."""

import os
import time
from collections.abc import Callable

import pytest

from ccgrep.errors import UsageError
from ccgrep.ops.search import search
from ccgrep.search.regex import MAX_PATTERN_CHARS, Matcher
from ccgrep.search.request import Request
from ccgrep.search.searcher import SearchOptions
from tests.helpers import scale
from tests.helpers.homes import Home

MEGABYTE = 1_000_000
TEXTS = {
    "one letter": "a" * MEGABYTE,
    "a letter and a break": "a" * (MEGABYTE - 1) + "!",
    "two letters": "ab" * (MEGABYTE // 2),
    "words": "aaaa bbbb " * (MEGABYTE // 10),
    "an address": "a@a." * (MEGABYTE // 4),
    "tags": "<a a='a'>" * (MEGABYTE // 9),
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


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("evil") / "home")
    file = home.claude()
    for name, text in TEXTS.items():
        file.turn(f"prompt {name}", text)
    file.write()
    home.index()
    return home


def timed(home: Home, pattern: str, budget_s: float) -> tuple[float, bool]:
    """How long a search takes and whether it was cut short; in a process of its own, as the command
    is one that ends without waiting for a match that it has given up."""
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        begun = time.monotonic()
        request = Request((pattern,), "regex", limit=0, deadline=begun + budget_s)
        result = search(home.config, request, SearchOptions())
        took = time.monotonic() - begun
        os.write(write_end, f"{took} {result.answer.is_cut_short:d}".encode())
        os._exit(0)
    os.wait()
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        took_, cut = pipe.read().split()
    return float(took_), cut == "1"


def test_fifty_evil_patterns_stop_in_time(large: Home, figure: Callable[[str], None]) -> None:
    assert len(EVIL) >= 50
    budget_s = scale.of(1, 5)
    chosen = scale.some(range(len(EVIL)), 12)
    late, cut_short = {}, 0
    for number in chosen:
        took, is_cut_short = timed(large, EVIL[number], budget_s)
        cut_short += is_cut_short
        if took > 1.1 * budget_s:
            late[EVIL[number]] = round(took, 2)
    assert late == {}
    figure(
        f"evil patterns: {len(chosen)} on {len(TEXTS)} turns of 1 MB within {budget_s} s + 10 %, "
        f"{cut_short} of them cut short"
    )


@pytest.mark.parametrize("is_literal", [True, False])
def test_a_pattern_that_is_too_long_is_refused(is_literal: bool) -> None:
    pattern = "(a?)" * (MAX_PATTERN_CHARS // 4)
    Matcher((pattern,), is_literal, False, False)
    with pytest.raises(UsageError, match="longer than 4096 characters"):
        Matcher((pattern + "a",), is_literal, False, False)
