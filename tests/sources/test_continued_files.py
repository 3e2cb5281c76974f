"""A session that continues in another project folder stays one session."""

import pytest

from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile


def write_begin(home: Home) -> ClaudeFile:
    file = home.claude(slug="-old")
    file.turn("begin", "on it")
    file.write()
    return file


def continue_elsewhere(home: Home, file: ClaudeFile, slug: str = "-new") -> ClaudeFile:
    """Return a file with the session's next records only, in another project folder."""
    next = home.claude(seed=7, slug=slug, session_id=file.session_id, cwd="/home/sam/src/copy")
    next.now_ms = file.now_ms
    next.last_uuid = file.last_uuid
    next.turn("go on", "gone on")
    next.write()
    return next


@pytest.mark.parametrize("is_known", [True, False])
def test_file_with_the_next_records_continues_its_session(home: Home, is_known: bool) -> None:
    file = write_begin(home)
    if is_known:
        home.index()
    next = continue_elsewhere(home, file)
    home.index()
    (row,) = home.rows().values()
    assert home.prompts(file.id) == ["begin", "go on"]
    assert row.session.current_cwd == "/home/sam/src/copy"
    assert {known.path for known in row.files} == {str(file.path), str(next.path)}
    assert home.index().bytes_parsed == 0
    next.turn("once more", "done")
    next.append()
    home.index()
    assert home.prompts(file.id) == ["begin", "go on", "once more"]
    assert_same_as_fresh(home)


def test_three_files_continue_each_other_in_order_of_time(home: Home) -> None:
    file = write_begin(home)
    second = continue_elsewhere(home, file, slug="-z")
    third = continue_elsewhere(home, second, slug="-a")
    third.records.clear()
    third.turn("finish", "finished")
    third.write()
    home.index()
    assert home.prompts(file.id) == ["begin", "go on", "finish"]
    assert_same_as_fresh(home)


def test_turns_survive_the_deletion_of_the_first_file(home: Home) -> None:
    file = write_begin(home)
    next = continue_elsewhere(home, file)
    home.index()
    file.path.unlink()
    next.turn("once more", "done")
    next.append()
    home.index()
    assert home.prompts(file.id) == ["go on", "once more"]
    assert home.prompts(f"{file.id}~2") == ["begin", "go on"]
    assert home.rows()[f"{file.id}~2"].is_superseded


def test_output_beside_the_first_file_is_read(home: Home) -> None:
    file = home.claude(slug="-old")
    file.prompt("begin")
    call = file.call("Bash", {"command": "make"})
    spill = file.path.parent / file.id / "tool-results" / "out.txt"
    file.result(call, f"<persisted-output>\nFull output saved to: {spill}\n</persisted-output>")
    file.write()
    spill.parent.mkdir(parents=True)
    spill.write_text("every line of it")
    continue_elsewhere(home, file)
    home.index()
    (first, _) = home.turns(file.id)
    assert [call.result and call.result.text for call in first.calls()] == ["every line of it"]


def test_files_that_overlap_in_time_are_not_joined(home: Home) -> None:
    file = home.claude(slug="-old")
    file.turn("begin", "on it")
    now = file.now_ms
    file.turn("here", "done")
    file.write()
    other = home.claude(seed=7, slug="-new", session_id=file.session_id)
    other.now_ms = now
    other.turn("there", "done")
    other.write()
    home.index()
    assert sorted(home.prompts(id) for id in home.rows()) == [["begin", "here"], ["there"]]
    assert_same_as_fresh(home)
