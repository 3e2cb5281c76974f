"""Only changes are read and stored, and the result equals a fresh index."""

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

import ccgrep.refresh.update
from ccgrep.ingest.plan import plan
from ccgrep.ingest.report import Options, Progress
from ccgrep.refresh.update import build
from ccgrep.sources.scan import FoundFile, Scan
from ccgrep.store.lifecycle import create_store, open_store
from ccgrep.store.manifest import SourceFile
from tests.helpers.homes import Home, assert_same_as_fresh, live_sessions


def test_second_run_parses_nothing_and_adds_nothing(home: Home) -> None:
    home.claude().turn("one", "two")
    file = home.claude()
    file.turn("one", "two", "ls", "a")
    file.write()
    codex = home.codex()
    codex.meta()
    codex.turn("three", "four")
    codex.write()
    first = home.index()
    head = (home.store_dir / "HEAD").read_text()
    second = home.index()
    assert (first.files_parsed, first.new_objects, first.turns) == (2, 2, 2)
    assert (second.files_seen, second.files_parsed, second.bytes_parsed) == (2, 0, 0)
    assert (second.new_objects, second.turns) == (0, 0)
    assert (home.store_dir / "HEAD").read_text() == head


def test_run_without_changes_lists_no_directory_and_reads_no_row(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in (1, 2):
        file = home.claude(seed)
        file.turn("why", "because")
        file.write()
    home.rest()
    first = home.index()
    monkeypatch.setattr(ccgrep.refresh.update, "IngestRun", None)
    report = home.index()
    assert (report.files_seen, report.bytes_parsed, report.documents) == (first.files_seen, 0, 0)
    monkeypatch.undo()
    history = home.projects.parent / "history.jsonl"
    history.write_text("")
    monkeypatch.setattr(ccgrep.refresh.update, "IngestRun", None)
    with pytest.raises(TypeError):
        home.index()  # The history, from which sessions are recovered, is new.


def test_appended_turn_parses_from_the_open_turn_and_adds_one_object(home: Home) -> None:
    file = home.claude()
    for number in range(20):
        file.turn(f"prompt {number}", f"answer {number}")
    file.write()
    home.index()
    open_turn = home.manifest(file.id).entries[-1]
    file.turn("the next", "the last")
    file.append()
    report = home.index()
    assert report.new_objects == 1
    assert report.bytes_parsed == file.path.stat().st_size - open_turn.start
    assert_same_as_fresh(home)


def test_turn_that_grows_ten_times_leaves_one_object_after_gc(home: Home) -> None:
    file = home.claude()
    file.prompt("work")
    file.write()
    for number in range(10):
        file.answer(f"step {number}")
        file.append()
        home.index()
    assert home.run("gc").returncode == 0
    frames = [frame for pack in home.store.packs() for _, frame in pack.scan()]
    turns = [frame.id for frame in frames if frame.kind == "turn"]
    assert turns == [home.manifest(file.id).entries[0].turn]
    assert_same_as_fresh(home)


def test_rewritten_transcript_leaves_the_earlier_turns_as_a_superseded_session(home: Home) -> None:
    file = home.claude()
    file.turn("first idea", "no")
    file.turn("second idea", "yes")
    file.write()
    home.index()
    file.records.clear()
    file.turn("another story", "altogether")
    file.turn("that is longer", "than before " * 50)
    file.write()
    home.index()
    assert home.prompts(file.id) == ["another story", "that is longer"]
    superseded = home.rows()[f"{file.id}~2"]
    assert superseded.is_superseded
    assert home.prompts(f"{file.id}~2") == ["first idea", "second idea"]
    assert_same_as_fresh(home)


def test_vanished_transcript_is_marked_gone_until_it_comes_back(home: Home, tmp_path: Path) -> None:
    file = home.claude()
    file.turn("keep me", "for ever")
    file.write()
    home.index()
    shutil.move(file.path, tmp_path / "away")
    home.index()
    assert home.rows()[file.id].is_gone
    assert home.prompts(file.id) == ["keep me"]
    shutil.move(tmp_path / "away", file.path)
    report = home.index()
    assert not home.rows()[file.id].is_gone
    assert report.new_objects == 0


def test_root_that_cannot_be_listed_marks_nothing_gone(home: Home) -> None:
    file = home.claude()
    file.turn("still here", "yes")
    file.write()
    home.index()
    home.projects.rename(home.projects.with_name("unmounted"))
    report = home.index()
    assert not home.rows()[file.id].is_gone
    assert [trouble.endswith("not found") for trouble in report.troubles] == [True]


def test_moved_session_stays_one_session(home: Home) -> None:
    file = home.claude(slug="-old")
    file.turn("here", "and there")
    file.write()
    home.index()
    target = home.projects / "-new" / file.path.name
    target.parent.mkdir()
    file.path.rename(target)
    report = home.index()
    assert list(home.rows()) == [file.id]
    assert home.rows()[file.id].files[0].path == str(target)
    assert (report.new_objects, home.rows()[file.id].is_gone) == (0, False)


def test_copy_is_the_same_session_but_a_different_session_of_that_name_is_not(home: Home) -> None:
    file = home.claude(slug="-a")
    file.turn("one", "two")
    file.turn("three", "four")
    file.write()
    copy = home.projects / "-b" / file.path.name
    copy.parent.mkdir()
    copy.write_bytes(b"".join(file.lines()[:2]))
    stranger = home.claude(2, slug="-c", name=file.id)
    stranger.turn("nothing", "in common")
    stranger.write()
    home.index()
    assert sorted(home.rows()) == [file.id, f"{file.id}~2"]
    prompts = {tuple(home.prompts(id)) for id in home.rows()}
    assert prompts == {("one", "three"), ("nothing",)}
    assert home.index().bytes_parsed == 0
    assert_same_as_fresh(home)


def test_longer_copy_of_an_unfinished_turn_replaces_it(home: Home) -> None:
    file = home.claude(slug="-a")
    file.prompt("work")
    file.answer("step one")
    file.write()
    home.index()
    file.answer("step two")
    copy = home.projects / "-b" / file.path.name
    copy.parent.mkdir()
    copy.write_bytes(b"".join(file.lines()))
    home.index()
    assert list(home.rows()) == [file.id]
    assert home.rows()[file.id].files[0].path == str(copy)
    assert_same_as_fresh(home)


def test_deleted_transcripts_survive_recreate(home: Home) -> None:
    files = []
    for seed in range(4):
        file = home.claude(seed + 1)
        file.turn(f"prompt {seed}", f"answer {seed}")
        files.append(file)
        file.write()
    home.index()
    for file in files:
        file.path.unlink()
    home.index()
    done = home.run("index", "--recreate")
    assert done.returncode == 0, done.stderr
    assert [home.prompts(file.id) for file in files] == [[f"prompt {n}"] for n in range(4)]
    aside = [path for path in home.directory.iterdir() if ".old-" in path.name]
    assert len(aside) == 1


def test_fork_stores_common_turns_once(home: Home) -> None:
    parent = home.claude()
    for number in range(6):
        parent.turn(f"prompt {number}", f"answer {number}", "ls", f"out {number}")
    parent.write()
    shared = len(parent.records) // 2
    fork = parent.fork(home.projects / "-elsewhere", shared, seed=9)
    fork.turn("another way", "taken")
    fork.write()
    report = home.index()
    common = {e.turn for e in home.manifest(parent.id).entries} & {
        e.turn for e in home.manifest(fork.id).entries
    }
    assert (len(common), report.new_objects) == (3, 6 + 1)


def test_full_index_reads_everything_and_stores_nothing_new(home: Home) -> None:
    file = home.claude()
    file.turn("one", "two")
    size = file.write().stat().st_size
    home.index()
    report = home.index(is_full=True)
    assert (report.bytes_parsed, report.new_objects) == (size, 0)


def test_plan_lists_every_difference() -> None:
    def found(path: str, size: int) -> FoundFile:
        return FoundFile(path, "codex", "session", "/r", size, 5_000_000_000, 1)

    def known(path: str, size: int, read_ns: int = 10_000_000_000) -> SourceFile:
        return SourceFile(path, "/r", size, 5_000_000_000, 1, read_ns)

    before = {
        "/r/same": known("/r/same", 1),
        "/r/grown": known("/r/grown", 1),
        "/r/racy": known("/r/racy", 1, read_ns=5_500_000_000),
        "/r/gone": known("/r/gone", 1),
    }
    seen = {p: found(p, 2 if p == "/r/grown" else 1) for p in ("/r/same", "/r/grown", "/r/racy")}
    seen["/r/new"] = found("/r/new", 1)
    todo = plan(before, Scan(seen, {}, ["/r"], []), now_ns=20_000_000_000)
    assert todo.new == ("/r/new",)
    assert todo.changed == ("/r/grown",)
    assert todo.suspect == ("/r/racy",)
    touched = {path: replace(one, ctime_ns=1) for path, one in before.items()}
    todo = plan(touched, Scan(seen, {}, ["/r"], []), now_ns=20_000_000_000)
    assert set(todo.changed) == set(seen) - {"/r/new"}
    assert todo.gone == ("/r/gone",)
    assert plan(before, Scan({}, {}, [], []), now_ns=0).gone == ()


def test_long_run_commits_repeatedly(home: Home) -> None:
    for seed in range(5):
        file = home.claude(seed + 1)
        file.turn(f"prompt {seed}", "answer")
        file.write()
    store = create_store(str(home.store_dir))
    snapshots: list[int] = []

    def watch(progress: Progress) -> None:
        snapshots.append(open_store(str(home.store_dir)).snapshot().revision)

    build(store, Options(roots=home.config.roots, commit_every_s=0), watch)
    assert snapshots == [0, 1, 2, 3, 4]
    assert len(home.rows()) == 5
    assert_same_as_fresh(home)


def test_workers_store_the_same_as_one_process(home: Home) -> None:
    for seed in range(6):
        file = home.claude(seed + 1)
        for number in range(3):
            file.turn(f"prompt {seed} {number}", "answer " * 50_000, "ls", "x " * 200_000)
        file.write()
    store = create_store(str(home.store_dir))
    build(store, Options(roots=home.config.roots, workers=1))
    other = create_store(str(home.directory / "other"))
    build(other, Options(roots=home.config.roots, workers=3))
    assert live_sessions(store) == live_sessions(other)
    assert len(live_sessions(store)) == 6
