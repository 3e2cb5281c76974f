"""Queries with punctuation, and quoted phrases."""

import pytest

from tests.helpers.homes import Home

LITERALS = (
    ("PR #12", "PR #12 is merged", ("12 prs", "PR #123", "PR: 12", "pr 12 pr 12 pr 12")),
    ("C:\\Users\\me", "open C:\\Users\\me now", ("c users me", "C:/Users/me", "c users me")),
    ("foo()", "call foo() there", ("foo", "foo foo foo", "foo(x)")),
    ("--no-verify", "git commit --no-verify", ("no verify", "no-verify, no-verify")),
    ("a.b.c", "read a.b.c first", ("a b c", "a-b-c a-b-c")),
)


@pytest.mark.parametrize(("query", "typed", "others"), LITERALS, ids=[one[0] for one in LITERALS])
def test_query_with_punctuation_prefers_turns_that_have_it_as_typed(
    home: Home, query: str, typed: str, others: tuple[str, ...]
) -> None:
    """Also if that turn is longer and older."""
    file = home.claude(1)
    padding = " ".join(["and much else besides"] * 40)
    file.turn(f"{padding} {typed} {padding}", "Done.")
    for other in others:
        file.turn(other, "Done.")
    file.write()
    home.index()
    for limit in ("1", "0"):
        done = home.run("--full-id", "-n", limit, "--", query)
        first, *rest = [line.split(":")[1:3] for line in done.stdout.splitlines()]
        assert first == ["0", "1.000"]
        assert len(rest) <= len(others)
        assert all(float(score) < 1 for _, score in rest)
    assert len(rest) > 0


QUOTED = (
    ('"run the test"', ["run the test", "please RUN  the\ntest!"], ["running the tests"]),
    ('"foo()"', ["foo()"], ["foo", "foo bar"]),
    ('"error: exit 1"', ["error: exit 1"], ["error, exit 1", "error: exit 12", "error exit 1"]),
    ('zebra "is late"', ["the zebra is late"], ["zebra is later", "is late"]),
)


@pytest.mark.parametrize(("query", "hits", "others"), QUOTED, ids=[one[0] for one in QUOTED])
def test_quoted_phrase_is_matched_as_written(
    home: Home, query: str, hits: list[str], others: list[str]
) -> None:
    """In the discussion and in tool output."""
    file = home.claude(1)
    for text in (*hits, *others):
        file.turn(text, "Done.")
    for text in (*hits, *others):
        file.turn("next", "Done.", "cat notes", text)
    file.write()
    home.index()
    done = home.run("--all", "-n", "0", query)
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines()}
    count = len(hits) + len(others)
    assert found == {number for at in (0, count) for number in range(at, at + len(hits))}
