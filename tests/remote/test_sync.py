"""Push and pull between homes over a folder."""

import shutil
from pathlib import Path

import pytest

from ccgrep.errors import ClonedMachineError
from ccgrep.ops import sync as ops
from ccgrep.ops.remote import add_remote, export_key, read_exported_key, rename_machine
from tests.helpers.faulty_storage import storage_fault
from tests.helpers.fleet import BOTH, PULL, PUSH, Fleet, conversations
from tests.helpers.homes import Home
from tests.helpers.stored import write_session
from tests.helpers.transcripts import ClaudeFile


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def test_sessions_of_one_machine_are_found_on_the_other(fleet: Fleet) -> None:
    write_session(fleet[0], 1)
    write_session(fleet[1], 2)
    for home in fleet.homes:
        home.index()
    fleet.sync(0)
    fleet.sync(1)
    fleet.sync(0)
    assert conversations(fleet[0]) == conversations(fleet[1])
    assert len(conversations(fleet[0])) == 2
    assert "answer 2 1" in fleet[0].run("answer 2", "-F").stdout


def test_second_sync_changes_nothing(fleet: Fleet) -> None:
    write_session(fleet[0], 1)
    fleet[0].index()
    fleet.sync(0)
    before = {path: path.stat().st_mtime_ns for path in fleet.files()}
    with storage_fault() as count:
        report = fleet.sync(0)
    assert count == [1]  # one listing
    assert report.pushed is not None
    assert not report.pushed.is_changed
    assert {path: path.stat().st_mtime_ns for path in fleet.files()} == before


def test_only_what_is_missing_is_written(fleet: Fleet) -> None:
    file = write_session(fleet[0], 1)
    write_session(fleet[0], 2)
    fleet[0].index()
    fleet.sync(0)
    before = set(fleet.files("packs"))
    file.turn("one more", "answer")
    file.append()
    fleet[0].index()
    report = fleet.sync(0)
    assert report.pushed is not None
    assert (report.pushed.sessions, report.pushed.packs) == (1, 1)
    assert before < set(fleet.files("packs"))


def test_session_that_grows_follows_on_every_machine(fleet: Fleet) -> None:
    file = write_session(fleet[0], 1)
    fleet.settle()
    file.turn("later prompt", "later answer")
    file.append()
    fleet.settle()
    assert fleet[1].prompts(file.id)[-1] == "later prompt"
    assert [row.provenance is None for row in fleet[1].store.rows()] == [False]
    assert "later answer" in fleet[1].run("later answer", "-F").stdout


def test_copied_home_is_one_session_and_the_longer_version_wins(fleet: Fleet) -> None:
    files = [write_session(home, 1) for home in fleet.homes]
    fleet.settle()
    assert [len(conversations(home)) for home in fleet.homes] == [1, 1]
    files[0].turn("continued on 0", "yes")
    files[0].append()
    fleet.settle()
    assert conversations(fleet[0]) == conversations(fleet[1])
    assert fleet[1].prompts(files[1].id)[-1] == "continued on 0"
    assert len(conversations(fleet[1])) == 1
    # The copy catches up and goes further: it defines the session again.
    files[1].turn("continued on 0", "yes")
    files[1].turn("continued on 1", "yes")
    files[1].append()
    fleet.settle()
    assert conversations(fleet[0]) == conversations(fleet[1])
    assert fleet[0].prompts(files[1].id)[-1] == "continued on 1"
    assert len(conversations(fleet[0])) == 1


def test_diverged_copies_are_forks(fleet: Fleet) -> None:
    files = [write_session(home, 1) for home in fleet.homes]
    fleet.settle()
    for number, file in enumerate(files):
        file.diverge(number)
        file.turn(f"only on {number}", "yes")
        file.append()
    fleet.settle()
    assert conversations(fleet[0]) == conversations(fleet[1])
    last = {prompts[-1] for _, _, prompts in conversations(fleet[0])}
    assert last == {"only on 0", "only on 1"}
    files[0].turn("further on 0", "yes")
    files[0].append()
    fleet.settle()
    assert conversations(fleet[0]) == conversations(fleet[1])
    assert len(conversations(fleet[0])) == 2


def test_local_copy_that_diverges_from_a_longer_version_becomes_a_fork(fleet: Fleet) -> None:
    files = [write_session(home, 1) for home in fleet.homes]
    files[0].turn("only on 0", "yes")
    files[0].append()
    fleet.settle()
    files[1].diverge(1)
    files[1].turn("only on 1", "yes")
    files[1].append()
    fleet.settle()
    assert conversations(fleet[0]) == conversations(fleet[1])
    last = {prompts[-1] for _, _, prompts in conversations(fleet[0])}
    assert last == {"only on 0", "only on 1"}


def test_new_machine_skips_what_others_forgot(fleet: Fleet) -> None:
    """The head of a machine that never syncs again still lists the session."""
    file = write_session(fleet[1], 1)
    write_session(fleet[1], 2)
    fleet.settle()
    fleet[0].run("forget", file.id)
    fleet.sync(0)
    fleet.add_home()
    report = fleet.sync(2)
    assert report.problems == []
    assert [prompts[0] for *_, prompts in conversations(fleet[2])] == ["prompt 2 0"]


def keep_turns(home: Home) -> None:
    """Drop the bytes of all transcripts of a store."""
    env = {"CCGREP_KEEP": "turns"}
    assert home.run("index", env=env).returncode == 0
    assert home.run("gc", env=env).returncode == 0


def restores(home: Home, file: ClaudeFile) -> bool:
    """Return whether a store has the bytes of a transcript."""
    (home.directory / "out").mkdir(exist_ok=True)
    home.run("restore", file.id, "--to", str(home.directory / "out"), "--force")
    found = (home.directory / "out").rglob(file.path.name)
    return file.path.read_bytes() in [path.read_bytes() for path in found]


def test_bytes_that_one_machine_drops_stay_on_the_others(fleet: Fleet) -> None:
    file = write_session(fleet[0], 1)
    fleet.settle()
    keep_turns(fleet[0])
    fleet.sync(0)
    fleet.sync(1)
    assert restores(fleet[1], file)
    # A new machine finds both, and takes the bytes.
    fleet.add_home()
    fleet.sync(2)
    assert restores(fleet[2], file)


def test_machine_that_keeps_turns_does_not_hide_bytes_from_a_new_one(fleet: Fleet) -> None:
    file = write_session(fleet[0], 1)
    fleet.settle()
    keep_turns(fleet[1])
    fleet.sync(1)
    head = fleet.head_path(0)
    head.rename(fleet.directory / "head")
    fleet.add_home()
    fleet.sync(2)
    assert not restores(fleet[2], file)
    (fleet.directory / "head").rename(head)
    fleet.sync(2)
    assert restores(fleet[2], file)
    assert conversations(fleet[2]) == conversations(fleet[0])


def test_restored_store_gets_back_what_it_had_pushed_since(fleet: Fleet) -> None:
    write_session(fleet[0], 1)
    fleet.settle()
    shutil.copytree(fleet[0].store_dir, fleet.directory / "backup")
    file = write_session(fleet[0], 2)
    fleet.settle()
    file.path.unlink()
    shutil.rmtree(fleet[0].store_dir)
    (fleet.directory / "backup").rename(fleet[0].store_dir)
    with pytest.raises(ClonedMachineError):
        fleet.sync(0)
    rename_machine(fleet[0].config, "restored", is_new_id=True)
    fleet.settle()
    assert conversations(fleet[0]) == conversations(fleet[1])
    assert len(conversations(fleet[0])) == 2


def test_clock_that_was_set_back_hides_no_change(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_session(fleet[0], 1)
    fleet.settle()
    monkeypatch.setattr(ops, "_now_ms", lambda: 1_000)
    file.turn("in the past", "yes")
    file.append()
    fleet.settle()
    assert fleet[1].prompts(file.id)[-1] == "in the past"


def test_forgetting_crosses_remotes_through_a_machine_that_uses_both(fleet: Fleet) -> None:
    other = Home(fleet.directory / "other")
    url = f"file://{fleet.directory}/second"
    for home in (fleet[1], other):
        key = None
        if home is other:
            key = read_exported_key(export_key(fleet[1].config, "s"), lambda: "")
        add_remote(home.config, "s", url, "m", key=key)
    file = write_session(fleet[0], 1)
    write_session(other, 2)
    homes = (fleet[0], fleet[1], other, fleet[1], fleet[0])
    for home in homes * 2:
        home.index()
        ops.sync(home.config, None, BOTH)
    assert conversations(fleet[0]) == conversations(fleet[1]) == conversations(other)
    assert len(conversations(other)) == 2
    other.run("forget", file.id)
    for home in reversed(homes * 2):
        ops.sync(home.config, None, BOTH)
    for home in homes:
        assert [prompts[0] for *_, prompts in conversations(home)] == ["prompt 2 0"]
    assert b"prompt 1 0" not in fleet.held_bytes()


def test_rewritten_transcript_keeps_its_old_turns_everywhere(fleet: Fleet) -> None:
    file = write_session(fleet[0], 1)
    fleet.settle()
    file.records.clear()
    file.turn("rewritten", "yes")
    file.write()
    fleet.settle()
    assert conversations(fleet[0]) == conversations(fleet[1])
    assert len(conversations(fleet[1])) == 2


def test_session_of_a_lost_machine_reaches_a_new_one(fleet: Fleet) -> None:
    write_session(fleet[0], 1)
    fleet.settle()
    fleet.head_path(0).unlink()
    fleet.add_home()
    fleet.sync(2, PULL)
    assert conversations(fleet[2]) == conversations(fleet[1])
    assert len(conversations(fleet[2])) == 1


def test_forget_reaches_every_machine_and_every_byte(fleet: Fleet) -> None:
    file = write_session(fleet[0], 1)
    write_session(fleet[0], 2)
    fleet.settle()
    assert fleet[1].run("forget", file.id).returncode == 0
    fleet.settle()
    for home in fleet.homes:
        assert file.id not in {id for id, *_ in conversations(home)}
        assert len(conversations(home)) == 1
    held = fleet.held_bytes()
    assert b"prompt 1 0" not in held
    assert b"prompt 2 0" in held


def test_offline_machine_cannot_bring_a_forgotten_session_back(fleet: Fleet) -> None:
    file = write_session(fleet[0], 1)
    fleet.settle()
    fleet[0].run("forget", file.id)
    fleet.sync(0)
    # The other machine was offline, and knows even more of the session.
    copy = write_session(fleet[1], 1, turns=5)
    fleet[1].index()
    fleet.sync(1, PUSH)
    assert conversations(fleet[1]) == []
    fleet[1].index()
    fleet.settle()
    assert [conversations(home) for home in fleet.homes] == [[], []]
    assert copy.path.exists()
    assert b"prompt 1 0" not in fleet.held_bytes()


def test_machine_with_the_public_half_pushes_and_obeys_tombstones(fleet: Fleet) -> None:
    fleet.add_home(is_public=True)
    file = write_session(fleet[2], 3)
    fleet[2].index()
    fleet.sync(2, PUSH)
    fleet.sync(0)
    assert [prompts[0] for *_, prompts in conversations(fleet[0])] == ["prompt 3 0"]
    fleet[0].run("forget", file.id)
    fleet.sync(0)
    fleet.sync(2, PUSH)
    assert conversations(fleet[2]) == []
    fleet.sync(0)
    assert conversations(fleet[0]) == []
    assert b"prompt 3 0" not in fleet.held_bytes()


def test_forgetting_a_session_keeps_its_fork_everywhere(fleet: Fleet) -> None:
    """The fork has the same id and the same first turns. Each machine has the file of one."""
    files = [write_session(home, 1) for home in fleet.homes]
    fleet.settle()
    for number, file in enumerate(files):
        file.diverge(number)
        file.turn(f"only on {number}", "yes")
        file.append()
    fleet.settle()
    fleet[0].run("forget", _find_id(fleet[0], "only on 0"))
    fleet.settle()
    for home in fleet.homes:
        assert [prompts[-1] for *_, prompts in conversations(home)] == ["only on 1"]
    assert b"only on 0" not in fleet.held_bytes()
    for number, file in enumerate(files):
        file.turn(f"further on {number}", "yes")
        file.append()
    fleet.settle()
    for home in fleet.homes:
        assert [prompts[-1] for *_, prompts in conversations(home)] == ["further on 1"]


def test_machine_without_the_fork_does_not_forget_it(fleet: Fleet) -> None:
    """It forgets the only session with that id that it knows, because another machine did."""
    fleet.add_home()
    files = [write_session(home, 1) for home in fleet.homes[:2]]
    for number, file in enumerate(files):
        file.diverge(number)
        file.turn(f"only on {number}", "yes")
        file.append()
    fleet[0].index()
    fleet.sync(0)
    fleet.sync(2)  # It has only the original.
    fleet[1].index()
    fleet.sync(1)
    fleet[1].run("forget", _find_id(fleet[1], "only on 0"))
    fleet.sync(1, PUSH)
    fleet.head_path(1).rename(fleet.directory / "head")  # so that nobody sees the fork yet
    fleet.sync(2)
    assert conversations(fleet[2]) == []
    (fleet.directory / "head").rename(fleet.head_path(1))
    fleet.settle()
    for home in fleet.homes:
        assert [prompts[-1] for *_, prompts in conversations(home)] == ["only on 1"]


def _find_id(home: Home, last_prompt: str) -> str:
    return next(id for id in home.rows() if home.prompts(id)[-1] == last_prompt)
