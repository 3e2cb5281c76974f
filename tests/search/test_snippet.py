"""Snippets mark the words that the index matches, and show the line of the match."""

import random
from collections.abc import Callable

import pytest

from ccgrep.fulltext.reader import TextReader
from ccgrep.fulltext.schema import open_tantivy
from ccgrep.search.phrase_check import PhraseCheck
from ccgrep.search.query import Requirement, parse
from ccgrep.search.snippet import Span, make_snippet, word_finder
from tests.helpers.homes import Home
from tests.helpers.terminal import on_terminal

READER = TextReader(open_tantivy(None))
ROOTS = (
    "test flak hop hope run relat connect sens able abil die dy lie tie sk ski pr prompt proceed "
    "electr general nation authent cach retr tr fly ugl on earl new us miss hopp agre comput"
).split()
ENDINGS = (
    " s es ed ing y ies ied ier iest iness ily e er ion ions ational ation ator ible ibility "
    "ment ments icity ize ization ly ful fully less lessly"
).split(" ")
WORDS = sorted({root + ending for root in ROOTS for ending in ENDINGS})


def finder(query: str) -> Callable[[str], list[Span]]:
    return word_finder(parse(query, READER.stems, READER.tokens), READER.stems)


def marked(query: str, text: str) -> list[str]:
    return [text[span.start : span.end] for span in finder(query)(text)]


def test_words_with_the_same_stem_are_marked_and_no_others() -> None:
    text = " ".join(WORDS)
    stems = {word: READER.stems(word) for word in WORDS}
    for query in WORDS:
        same = [word for word in WORDS if stems[word] == stems[query]]
        assert marked(query, text) == same[:100], query


MARKED = {
    "PR": ("Open a PR, not a prompt; the prs/PR-12 of PRs", ["PR", "PR"]),
    "test": ("tests of attest, testify, Testing_x and myTestCase", ["tests", "Testing", "Test"]),
    "clientId": ("client_id, clientId, the client's id, ClientIdle", ["client_id", "clientId"]),
    '"run tests"': (
        "run the tests; run: tests, running tests, Run\n  tests",
        ["Run\n  tests"],
    ),
    "3.12": ("Python3.12 and 3.12.1, not 3 or 12", ["3.12", "3.12"]),
    "resume": ("a résumé, resumed", ["resumed"]),
    "naive": ("ein naïver Ansatz, naïve", ["naïve"]),
    "pytest": ("使用pytest测试 pytestmark", ["pytest"]),
    "测试": ("使用pytest测试", ["测试"]),
    "http": ("an HTTPServer, https and HTTP2", ["HTTP", "HTTP"]),
    "a": ("A fact: a cat", ["A", "a"]),
}


@pytest.mark.parametrize("query", MARKED)
def test_word_is_marked_as_the_index_splits_it(query: str) -> None:
    text, expected = MARKED[query]
    assert marked(query, text) == expected


def test_text_has_marks_exactly_if_it_matches() -> None:
    """The oracle is the check of phrases in fields without positions."""
    random_words = random.Random(25)
    pieces = ["run", "Running", "tests", "runTests", "run_tests", "auth", "authToken", "v3.12", "3"]
    for _ in range(2000):
        text = "".join(
            random_words.choice(pieces) + random_words.choice(" _./-\n") for _ in range(4)
        )
        query = random_words.choice(['"run test"', "runTests", "run_test", "auth", "token", "3.12"])
        units = parse(query, READER.stems, READER.tokens)
        required = [Requirement(units, len(units))]
        matches = PhraseCheck(READER.stems, READER.tokens).meets_any(required, {"said": text})
        assert bool(finder(query)(text)) == matches, (query, text)


def test_snippet_starts_with_the_line_of_the_match() -> None:
    text = "\n".join(f"line {number}: all is well" for number in range(1000))
    text = text.replace("line 700: all is well", "line 700: the needle broke")
    spans = finder("needle")(text)
    assert len(spans) == 1
    shown = "".join(part.text for part in make_snippet(text, spans, 100))
    assert shown.startswith("…line 700: the needle broke\nline 701")


def test_snippet_starts_in_a_long_line_near_the_match() -> None:
    text = "word " * 1000 + "needle" + " word" * 1000
    shown = "".join(part.text for part in make_snippet(text, [Span(5000, 5006)], 100))
    assert shown.startswith("…word word word word word needle word")


def test_record_and_block_show_the_line_of_an_output_that_has_all_words(home: Home) -> None:
    """The discussion has one of the words, too."""
    lines = [f"line {number}" for number in range(1000)]
    lines[500] = "FATAL: postgres econnrefused"
    file = home.claude(name="aaaaaaaa-first")
    file.turn("why does postgres fail?", "I will look.", "cat log", "\n".join(lines))
    file.write()
    home.index()
    for query in ("econnrefused", "postgres econnrefused"):
        record = home.run(query, "--width", "50").stdout
        assert record == "aaaaaaaa:0:0.500:…FATAL: postgres econnrefused line 501 line 502 l…\n"
        shown = on_terminal(home, query, NO_COLOR="1").splitlines()
        assert "  tool: …FATAL: postgres econnrefused" in shown
