"""What has grown is written to the text index by the search that waits for it."""

import os
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccgrep.errors import TextIndexError
from ccgrep.fulltext.document import Fields
from ccgrep.fulltext.writer import TextWriter
from ccgrep.ops.search import How, search
from ccgrep.refresh import look
from ccgrep.refresh.check import begin_check
from ccgrep.refresh.handover import HandedWriter, packed, unpacked
from ccgrep.refresh.messages import Line
from ccgrep.search.request import Request
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile

VALUES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.integers(-(2**63), 2**64 - 1),
    st.binary(),
    st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1),
)


@given(st.dictionaries(st.from_regex("[a-z_]+", fullmatch=True), VALUES))
def test_a_document_arrives_as_it_was_sent(fields: Fields) -> None:
    assert unpacked(packed(fields)) == fields


def grown(home: Home, sessions: int = 1) -> list[ClaudeFile]:
    """Sessions that were taken in, of which the last has grown since."""
    files = [home.claude(number) for number in range(1, sessions + 1)]
    for file in files:
        file.turn("why", "because")
        file.write()
    home.rest()
    home.index()
    files[-1].turn("wherefore", "therefore")
    files[-1].append()
    return files


def found(home: Home, word: str = "wherefore") -> list[int]:
    """The turns that a search finds, which first takes in what has grown."""
    result, _ = search(home.config, Request((word,)), How())
    return [hit.place.turn for hit in result.answer.hits]


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who takes in does not begin before who searches is waiting: here it has nothing to import,
    and would be done before."""
    monkeypatch.setattr(Line, "heard", Line.receive)


class Writers:
    """What this process does to the text index; its children's doings are not seen here."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[str] = []
        put, commit = TextWriter.put, TextWriter.commit

        def noted_put(writer: TextWriter, fields: Fields) -> None:
            self.done.append("put")
            put(writer, fields)

        def noted_commit(writer: TextWriter) -> None:
            self.done.append("commit")
            commit(writer)

        monkeypatch.setattr(TextWriter, "put", noted_put)
        monkeypatch.setattr(TextWriter, "commit", noted_commit)


@pytest.mark.usefixtures("waiting")
def test_who_searches_writes(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    grown(home)
    writers = Writers(monkeypatch)

    assert found(home) == [1]
    assert writers.done == ["put", "commit"]
    writers.done.clear()
    assert found(home) == [1]  # What has just changed is looked at again, and is as it was.
    assert not writers.done
    monkeypatch.undo()
    assert_same_as_fresh(home)


def test_who_waits_for_something_else_holds_up_nobody(home: Home) -> None:
    """In a pipe the last command may wait for the first, and the first for the lock."""
    grown(home)
    check = begin_check(home.config)
    os.waitid(os.P_PID, check._child, os.WEXITED | os.WNOWAIT)

    assert check.outcome(is_writing=True) == "taken in"
    assert_same_as_fresh(home)


@pytest.mark.usefixtures("waiting")
def test_who_cannot_write_leaves_it_to_the_child(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(home)
    here, put = os.getpid(), TextWriter.put

    def failing(writer: TextWriter, fields: Fields) -> None:
        if os.getpid() == here:
            raise TextIndexError("no")
        put(writer, fields)

    monkeypatch.setattr(TextWriter, "put", failing)

    assert found(home) == [1]
    monkeypatch.undo()
    assert_same_as_fresh(home)


@pytest.mark.usefixtures("waiting")
@pytest.mark.parametrize("method", ["__init__", "put", "commit", "newest"])
def test_a_child_that_dies_is_done_without(
    home: Home, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    grown(home)
    monkeypatch.setattr(HandedWriter, method, lambda *_: os.kill(os.getpid(), signal.SIGKILL))

    assert found(home) == [1]
    monkeypatch.undo()
    assert_same_as_fresh(home)


@pytest.mark.usefixtures("waiting")
@pytest.mark.parametrize("method", ["__init__", "put", "commit", "newest"])
def test_who_searches_may_die_while_it_writes(
    home: Home, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    grown(home)
    asker = os.fork()
    if asker == 0:
        monkeypatch.setattr(TextWriter, method, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        found(home)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(asker, 0)[1]) == signal.SIGKILL

    assert found(home) == [1]
    assert_same_as_fresh(home)


@pytest.mark.usefixtures("waiting")
def test_what_has_changed_besides_is_found_by_the_same_search(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = grown(home, 3)
    monkeypatch.setattr(look, "_NEWEST", 1)
    found(home)
    for number in (2, 0):  # The newest is looked at first, and another by somebody else.
        files[number].turn("whence", f"thence {number}")
        files[number].append()

    assert sorted(found(home, "whence")) == [1, 2]
    assert_same_as_fresh(home)


@pytest.mark.usefixtures("waiting")
def test_turns_of_many_commits_are_each_found_at_once(home: Home) -> None:
    """Small pieces of the text index are written again together now and then."""
    (file,) = grown(home)
    for number in range(2, 14):
        assert found(home)[:1] == [1]
        file.turn(f"word{number}", "answer")
        file.append()
        assert found(home, f"word{number}") == [number]
    assert_same_as_fresh(home)
