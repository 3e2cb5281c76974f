"""Other tools run in homes of their own, and the user's home is never changed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import compare, measure
from bench.contender import Limits, make_contender
from bench.coverage import measure_coverage
from bench.fts5 import read_places
from bench.home import ROOTS, GrowingSession, disk_usage, make_private_home, mirror_home
from bench.peers import PEERS, InstallDir, Peer, fill_command, make_environment
from bench.results import KINDS, read_result
from tests.helpers.homes import Home

LIMITS = Limits(runs=2, timeout_s=600, budget_s=600)
BY_NAME = {peer.name: peer for peer in PEERS}


@pytest.fixture
def user_home(home: Home) -> Home:
    """Return a home with a transcript of each source."""
    file = home.claude()
    file.turn("please fix the parser", "fixed")
    file.write()
    codex = home.codex()
    codex.meta()
    codex.turn("and the lexer", "done")
    codex.write()
    home.rest()
    return home


def list_files(directory: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in directory.rglob("*")
    }


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_no_command_refers_to_the_users_home(
    peer: Peer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.setenv(name, "/somebody")
    own = tmp_path / "own"
    variables = make_environment(InstallDir(tmp_path / "bench"), peer, own)
    templates = (peer.search, peer.build, peer.refresh, peer.start, peer.stop)
    words = [part for template in templates for part in fill_command(template, own, "word")]
    assert variables["HOME"] == str(own)
    texts = [*words, *variables.values()]
    assert [text for text in texts if "/somebody" in text or "{" in text] == []
    assert "word" in fill_command(peer.search, own, "word")
    assert not any(name.startswith(("XDG_", "CODEX_HOME", "CLAUDE_CONFIG")) for name in variables)


def test_private_home_shows_the_transcripts_without_counting_their_size(user_home: Home) -> None:
    own = user_home.directory / "own"
    make_private_home(user_home.directory, own)
    (own / ".cache").mkdir()
    (own / ".cache" / "index").write_bytes(os.urandom(8192))
    seen = {path.name for root in ROOTS for path in (own / root).rglob("*.jsonl")}
    assert seen == {path.name for path in user_home.directory.glob(".c*/**/*.jsonl")}
    assert len(seen) == 2
    assert disk_usage(own) == 8192


def test_growing_session_in_a_mirror_leaves_the_original_alone(
    user_home: Home, tmp_path: Path
) -> None:
    before = list_files(user_home.directory)
    mirror_home(user_home.directory, tmp_path / "mirror")
    with GrowingSession(tmp_path / "mirror", "word") as session:
        session.append_turn()
        session.settle()
    assert list_files(user_home.directory) == before
    copies = {path.name for path in (tmp_path / "mirror").rglob("*.jsonl")}
    assert copies == {Path(path).name for path in before if path.endswith(".jsonl")}


def test_fts5_indexes_the_same_turns_as_ccgrep(user_home: Home) -> None:
    user_home.index()
    places = [
        place
        for path in user_home.directory.glob(".c*/**/*.jsonl")
        for place in read_places(str(path))[1]
    ]
    expected = {
        (id, n): turn.prompt
        for id in user_home.rows()
        for n, turn in enumerate(user_home.turns(id))
    }
    assert {(place.session, place.turn): place.texts[0] for place in places} == expected


def test_fts5_ingests_appended_turns_and_replaces_grown_ones(user_home: Home) -> None:
    program = [sys.executable, str(Path(compare.__file__).with_name("fts5.py"))]
    database = str(user_home.directory / "turns.db")

    def run(*words: str) -> str:
        done = subprocess.run(
            [*program, *words],
            env=user_home.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    with GrowingSession(user_home.directory, "first") as session:
        run("index", database, str(user_home.projects), str(user_home.codex_sessions))
        assert run("search", database, "first").count("\n") == 1
        session.words = "second"
        session.append_turn()
        run("index", database, str(user_home.projects), str(user_home.codex_sessions))
        lines = {word: run("search", database, word) for word in ("first", "second", "lexer")}
    assert [text.count("\n") for text in lines.values()] == [1, 1, 1]
    assert lines["second"].startswith(f"{session.id}:1:")


def scanning_peer(name: str, *search: str) -> Peer:
    return Peer(name, "here", "", search=search, is_scan=True)


def test_failing_tools_are_noted_and_others_have_all_figures(
    user_home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Dropping the kernel's caches would slow down everything else on the machine.
    monkeypatch.setattr(compare, "_DROP_CACHES", tmp_path / "none")
    monkeypatch.setattr(measure, "tree_memory", lambda pid: measure.Memory(3_000_000, 2_000_000))
    peers = [
        BY_NAME["ccgrep"],
        BY_NAME["grep"],
        scanning_peer("blind", "echo", "nothing {word}"),
        scanning_peer("broken", "sh", "-c", "exit 7"),
        scanning_peer("absent", "there-is-no-such-program"),
    ]
    before = list_files(user_home.directory)
    install_dir, out = InstallDir(tmp_path / "b"), tmp_path / "out"
    compare.compare("home", user_home.directory, peers, install_dir, LIMITS, out, {}, load=0.5)
    result = read_result(out / "home.json")
    tools = {tool.name: tool for tool in result.tools}
    assert (result.is_complete, result.load) == (True, 0.5)
    assert list_files(user_home.directory) == before
    assert tools["ccgrep"].notes == tools["grep"].notes == []
    searches = {"search", "first_byte", "common", "appended", "search_memory", "search_anonymous"}
    if hasattr(os, "posix_fadvise"):
        searches.add("cold")
    assert set(tools["grep"].figures) == searches
    assert set(tools["ccgrep"].figures) - searches == {
        "build", "build_memory", "build_anonymous", "disk", "no_op",
    }  # fmt: skip
    assert tools["ccgrep"].figures["appended"].runs == compare._APPEND_RUNS
    notes = {
        "blind": "does not find plantedword",
        "broken": "failed",
        "absent": "No such file or directory",
    }
    assert [tools[name].figures for name in notes] == [{}, {}, {}]
    assert all(words in tools[name].notes[0] for name, words in notes.items())
    assert not (tmp_path / "b" / "work" / "home").exists()


def test_coverage_has_the_kinds_of_text_that_a_tool_finds(tmp_path: Path) -> None:
    blind = scanning_peer("blind", "echo", "nothing {word}")
    covered = measure_coverage([BY_NAME["ccgrep"], blind], InstallDir(tmp_path / "b"), LIMITS)
    assert covered == {"ccgrep": list(KINDS), "blind": []}


def test_tool_that_is_not_installed_is_excluded_with_a_note(tmp_path: Path) -> None:
    install_dir = InstallDir(tmp_path / "b")
    contender = make_contender(BY_NAME["fast-resume"], install_dir, tmp_path, LIMITS)
    assert contender.is_excluded
    assert (contender.tool.version, contender.tool.notes) == ("", ["not installed"])
