"""The background refresh: the parent searches meanwhile, and again if something changed."""

import os
import signal

import pytest

from ccgrep.fulltext.writer import TextWriter
from ccgrep.ops import search as search_verb
from ccgrep.ops.search import search
from ccgrep.refresh import background, update
from ccgrep.refresh.background import Feedback, Refreshed
from ccgrep.search.request import Request
from ccgrep.search.searcher import SearchOptions
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile


def grow(home: Home, sessions: int = 1) -> list[ClaudeFile]:
    """Ingest sessions, of which the last has grown since."""
    files = [home.claude(number) for number in range(1, sessions + 1)]
    for file in files:
        file.turn("why", "because")
        file.write()
    home.rest()
    home.index()
    files[-1].turn("wherefore", "therefore")
    files[-1].append()
    return files


def found_turns(home: Home, word: str = "wherefore") -> list[int]:
    """Return the turns that a search with a background refresh finds."""
    refresh = background.start(home.config, Feedback())
    try:
        result = search(home.config, Request((word,)), SearchOptions(), refresh)
    finally:
        refresh.close()
    return [hit.place.turn for hit in result.answer.hits]


def refreshed(home: Home) -> Refreshed:
    refresh = background.start(home.config, Feedback())
    try:
        return refresh.wait()
    finally:
        refresh.close()


def kill_self(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_result_survives_its_encoding() -> None:
    for result in (Refreshed(), Refreshed(True, False, 3, 4_000_000_000)):
        assert Refreshed.decode(result.encode()) == result


def test_appended_turn_is_found_by_the_same_search(home: Home) -> None:
    grow(home)
    assert found_turns(home) == [1]
    assert_same_as_fresh(home)


def test_result_says_whether_the_store_changed(home: Home) -> None:
    grow(home)
    assert refreshed(home) == Refreshed(is_changed=True)
    assert refreshed(home) == Refreshed(is_changed=False)


def test_search_runs_once_if_nothing_changed(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    (file,) = grow(home)
    home.index()
    runs = []
    run = search_verb._run

    def counted(*arguments: object) -> object:
        runs.append(arguments)
        return run(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(search_verb, "_run", counted)
    assert found_turns(home) == [1]
    assert len(runs) == 1
    file.turn("whence", "thence")
    file.append()
    assert found_turns(home, "whence") == [2]
    assert len(runs) == 3


def test_several_grown_sessions_are_found_by_one_search(home: Home) -> None:
    files = grow(home, 3)
    found_turns(home)
    for number in (2, 0):
        files[number].turn("whence", f"thence {number}")
        files[number].append()
    assert sorted(found_turns(home, "whence")) == [1, 2]
    assert_same_as_fresh(home)


def test_turns_of_many_commits_are_each_found_at_once(home: Home) -> None:
    """Small segments of the full-text index are merged now and then."""
    (file,) = grow(home)
    for number in range(2, 14):
        assert found_turns(home)[:1] == [1]
        file.turn(f"word{number}", "answer")
        file.append()
        assert found_turns(home, f"word{number}") == [number]
    assert_same_as_fresh(home)


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (update, "update"),
        (update, "_ingest_grown"),
        (TextWriter, "put"),
        (TextWriter, "commit"),
        (update, "update_seen"),
    ],
)
def test_parent_takes_over_from_a_killed_child(
    home: Home, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    grow(home)
    parent, original = os.getpid(), getattr(owner, name)

    def kill_child(*arguments: object) -> object:
        if os.getpid() != parent:
            kill_self()
        return original(*arguments)

    monkeypatch.setattr(owner, name, kill_child)
    assert found_turns(home) == [1]
    monkeypatch.undo()
    assert_same_as_fresh(home)


def test_child_finishes_when_the_parent_is_killed(home: Home) -> None:
    grow(home)
    started, ready = os.pipe()
    parent = os.fork()
    if parent == 0:
        background.start(home.config, Feedback())
        os.close(started)
        kill_self()
    assert os.WTERMSIG(os.waitpid(parent, 0)[1]) == signal.SIGKILL
    os.close(ready)
    os.read(started, 1)  # The child holds the other end until it exits.
    assert found_turns(home) == [1]
    assert_same_as_fresh(home)


def test_refresh_that_nobody_awaits_is_killed(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(home)
    block, _keep_open = os.pipe()
    monkeypatch.setattr(update, "update", lambda *_: os.read(block, 1))
    background.start(home.config, Feedback()).close()
    monkeypatch.undo()
    assert found_turns(home) == [1]
    assert_same_as_fresh(home)


def test_search_prints_before_the_child_has_tidied_up(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(home)
    block, unblock = os.pipe()
    monkeypatch.setattr(update, "_MANY_PACKS", 0)
    monkeypatch.setattr(update, "_tidy", lambda *_: os.read(block, 1))
    refresh = background.start(home.config, Feedback())
    assert refresh.wait() == Refreshed(is_changed=True)  # The child still waits for `unblock`.
    os.write(unblock, b"x")
    refresh.close()
    monkeypatch.undo()
    assert_same_as_fresh(home)
