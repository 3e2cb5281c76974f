"""Other tools are run in homes of their own: the home of whoever measures is only read."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import compare
from bench.contender import Limits, contender
from bench.coverage import coverage
from bench.fts5 import places_of
from bench.home import ROOTS, Growing, bytes_in, mirrored, private
from bench.peers import PEERS, Peer, Places, command, environment
from bench.results import KINDS, read_result
from tests.helpers.homes import Home

LIMITS = Limits(runs=2, timeout_s=60, budget_s=20)
BY_NAME = {peer.name: peer for peer in PEERS}


@pytest.fixture
def given(home: Home) -> Home:
    """A home with something in it."""
    file = home.claude()
    file.turn("please fix the parser", "fixed")
    file.write()
    codex = home.codex()
    codex.meta()
    codex.turn("and the lexer", "done")
    codex.write()
    home.rest()
    return home


def listed(directory: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in directory.rglob("*")
    }


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_no_command_knows_the_home_of_who_measures(
    peer: Peer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.setenv(name, "/somebody")
    own = tmp_path / "own"
    variables = environment(Places(tmp_path / "bench"), peer, own)
    templates = (peer.search, peer.build, peer.refresh, peer.start, peer.stop)
    words = [part for one in templates for part in command(one, own, "word")]
    said = [*words, *variables.values()]
    assert variables["HOME"] == str(own)
    assert [text for text in said if "/somebody" in text or "{" in text] == []
    assert "word" in command(peer.search, own, "word")
    assert not any(name.startswith(("XDG_", "CODEX_HOME", "CLAUDE_CONFIG")) for name in variables)


def test_home_of_a_tool_shows_the_transcripts_and_does_not_count_them(given: Home) -> None:
    own = given.directory / "own"
    private(given.directory, own)
    (own / ".cache").mkdir()
    (own / ".cache" / "index").write_bytes(os.urandom(8192))
    seen = {path.name for root in ROOTS for path in (own / root).rglob("*.jsonl")}
    assert seen == {path.name for path in given.directory.glob(".c*/**/*.jsonl")}
    assert len(seen) == 2
    assert bytes_in(own) == 8192


def test_home_that_was_given_is_only_read(given: Home, tmp_path: Path) -> None:
    before = listed(given.directory)
    mirrored(given.directory, tmp_path / "mirror")
    with Growing(tmp_path / "mirror", "word") as growing:
        growing.grow()
        growing.settle()
    assert listed(given.directory) == before
    copies = {path.name for path in (tmp_path / "mirror").rglob("*.jsonl")}
    assert copies == {Path(path).name for path in before if path.endswith(".jsonl")}


def test_fts5_has_the_turns_that_ccgrep_has(given: Home) -> None:
    given.index()
    places = [
        place
        for path in given.directory.glob(".c*/**/*.jsonl")
        for place in places_of(str(path))[1]
    ]
    expected = {
        (id, n): turn.prompt for id in given.rows() for n, turn in enumerate(given.turns(id))
    }
    assert {(place.session, place.turn): place.texts[0] for place in places} == expected


def test_fts5_takes_in_what_was_appended_and_forgets_what_a_turn_was(given: Home) -> None:
    program = [sys.executable, str(Path(compare.__file__).with_name("fts5.py"))]
    database = str(given.directory / "turns.db")

    def run(*words: str) -> str:
        done = subprocess.run(
            [*program, *words], env=given.environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    with Growing(given.directory, "first") as growing:
        run("index", database, str(given.projects), str(given.codex_sessions))
        assert run("search", database, "first").count("\n") == 1
        growing.words = "second"
        growing.grow()
        run("index", database, str(given.projects), str(given.codex_sessions))
        found = {word: run("search", database, word) for word in ("first", "second", "lexer")}
    assert [text.count("\n") for text in found.values()] == [1, 1, 1]
    assert found["second"].startswith(f"{growing.id}:1:")


def odd(name: str, *search: str, **fields: Any) -> Peer:
    return Peer(name, "here", "", search=search, is_scan=True, **fields)


def test_tools_that_fail_are_noted_and_others_have_all_figures(
    given: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Elsewhere what is cached concerns everybody on the machine.
    monkeypatch.setattr(compare, "_DROP_CACHES", tmp_path / "none")
    peers = [
        BY_NAME["ccgrep"],
        BY_NAME["grep"],
        odd("blind", "echo", "nothing {word}"),
        odd("broken", "sh", "-c", "exit 7"),
        odd("absent", "there-is-no-such-program"),
    ]
    before = listed(given.directory)
    compare.compare(
        "home", given.directory, peers, Places(tmp_path / "b"), LIMITS, tmp_path / "out", {}
    )
    found = {tool.name: tool for tool in read_result(tmp_path / "out" / "home.json").tools}
    assert listed(given.directory) == before
    assert found["ccgrep"].notes == found["grep"].notes == []
    searches = {"search", "first_byte", "common", "cold", "appended"}
    assert set(found["grep"].figures) - {"search_memory", "search_anonymous"} == searches
    assert set(found["ccgrep"].figures) - searches == {
        "build", "build_memory", "build_anonymous", "disk", "no_op",
        "search_memory", "search_anonymous",
    }  # fmt: skip
    assert found["ccgrep"].figures["appended"].runs >= 3
    wanted = {
        "blind": "does not find plantedword",
        "broken": "failed",
        "absent": "No such file or directory",
    }
    assert [found[name].figures for name in wanted] == [{}, {}, {}]
    assert all(words in found[name].notes[0] for name, words in wanted.items())
    assert not (tmp_path / "b" / "work" / "home").exists()


def test_what_a_tool_covers_is_what_it_finds(tmp_path: Path) -> None:
    blind = odd("blind", "echo", "nothing {word}")
    found = coverage([BY_NAME["ccgrep"], blind], Places(tmp_path / "b"), LIMITS)
    assert found == {"ccgrep": list(KINDS), "blind": []}


def test_tool_that_is_not_installed_says_so(tmp_path: Path) -> None:
    one = contender(BY_NAME["fast-resume"], Places(tmp_path / "b"), tmp_path, LIMITS)
    assert one.is_out
    assert (one.tool.version, one.tool.notes) == ("", ["not installed"])
