"""What ingest makes of the markers in rebuilt, resumed and forged transcripts."""

import json
from pathlib import Path
from typing import Any

import pytest

from ccgrep.model import Thinking
from ccgrep.rebuild.transcript import hand_over, rebuild_transcript
from ccgrep.store.manifest import Row
from tests.helpers.homes import Home
from tests.helpers.transcripts import ClaudeFile, CodexFile


def write_claude(home: Home) -> ClaudeFile:
    file = home.claude(cwd="/home/sam/shop")
    file.prompt("one")
    file.blocks({"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "first"})
    file.result(file.call("Bash", {"command": "ls"}), "a.py")
    file.answer("done")
    file.turn("two", "second")
    file.write()
    return file


def write_codex(home: Home) -> CodexFile:
    file = home.codex()
    file.meta()
    file.turn("one", "first", "ls", "a.py")
    file.turn("two", "second")
    file.write()
    return file


def rebuild(home: Home, row: Row) -> Path:
    """Replace the transcript of a session by a rebuilt one."""
    transcript = rebuild_transcript(home.store, row)
    Path(row.files[0].path).unlink()
    root = ".claude" if row.session.source == "claude_code" else ".codex"
    path = home.directory / root / transcript.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(transcript.content)
    return path


def turn_ids(home: Home, id: str) -> list[bytes]:
    return [entry.turn for entry in home.manifest(id).entries]


def append(path: Path, *records: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def resume(home: Home, path: Path, prompt: str, answer: str) -> None:
    """Append a turn as the client does."""
    if ".claude" in path.parts:
        last = json.loads(path.read_text().splitlines()[-1])
        file = home.claude(path.stat().st_size, session_id=path.stem, cwd="/home/sam/shop")
        file.turn(prompt, answer)
        file.records[0]["parentUuid"] = last["uuid"]  # type: ignore[index]
    else:
        file = home.codex(9)  # type: ignore[assignment]
        file.turn(prompt, answer)
    append(path, *(json.loads(line) for line in file.lines()))


@pytest.mark.parametrize("write", [write_claude, write_codex])
@pytest.mark.parametrize("is_indexed_between", [True, False])
def test_resumed_session_keeps_its_turns(home: Home, write: Any, is_indexed_between: bool) -> None:
    write(home)
    home.index()
    ((id, row),) = home.rows().items()
    before, counts = turn_ids(home, id), (row.session.messages, row.session.tools)
    path = rebuild(home, row)
    if is_indexed_between:
        home.index()
        session = home.rows()[id].session
        assert (turn_ids(home, id), (session.messages, session.tools)) == (before, counts)
    resume(home, path, "three", "third")
    home.index()
    assert list(home.rows()) == [id]
    assert turn_ids(home, id)[:-1] == before
    assert home.prompts(id) == ["one", "two", "three"]
    resume(home, path, "four", "fourth")
    home.index()
    assert home.prompts(id) == ["one", "two", "three", "four"]
    assert turn_ids(home, id)[:2] == before
    home.index(is_full=True)
    assert list(home.rows()) == [id]
    assert turn_ids(home, id)[:2] == before


def test_thinking_survives_although_it_is_not_rebuilt(home: Home) -> None:
    file = write_claude(home)
    home.index()
    path = rebuild(home, home.rows()[file.id])
    assert "hm" not in path.read_text()
    home.index()
    parts = home.turns(file.id)[0].messages()[0].parts
    assert parts[0] == Thinking("hm")


@pytest.mark.parametrize("write", [write_claude, write_codex])
def test_rebuilt_transcript_can_be_read_without_the_store(
    home: Home, write: Any, tmp_path: Path
) -> None:
    write(home)
    home.index()
    ((id, row),) = home.rows().items()
    rebuild(home, row)
    home.store_dir = tmp_path / "new store"
    home.index()
    first, second = home.turns(id)
    assert (first.prompt, second.prompt) == ("one", "two")
    assert [call.result and call.result.text for call in first.calls()] == ["a.py"]


def test_fork_of_a_rebuilt_session_shares_its_turns(home: Home) -> None:
    """Claude Code copies records with fields that it does not know."""
    file = write_claude(home)
    home.index()
    path = rebuild(home, home.rows()[file.id])
    fork = path.with_name("f0f0f0f0-0000-4000-8000-000000000000.jsonl")
    fork.write_text(path.read_text().replace(file.id, fork.stem))
    home.index()
    assert turn_ids(home, fork.stem) == turn_ids(home, file.id)


def forge(home: Home, *turns: tuple[str, str, str]) -> ClaudeFile:
    """Write a transcript whose turns claim stored ones: claim, prompt and answer."""
    forged = home.claude(7, cwd="/tmp")
    for claim, prompt, answer in turns:
        forged.prompt([{"type": "text", "text": prompt}], ccgrep={"turn": claim})
        forged.answer(answer)
    forged.write()
    return forged


def test_claim_on_a_turn_with_other_content_is_ignored(home: Home) -> None:
    file = write_claude(home)
    home.index()
    before = turn_ids(home, file.id)
    claim = before[1].hex()
    forged = forge(home, (claim, "two", "forged"), (claim, "forged", "second"), (claim, "two", ""))
    home.index()
    assert turn_ids(home, file.id) == before
    assert not set(turn_ids(home, forged.id)) & set(before)
    assert [turn.assistant_texts() for turn in home.turns(forged.id)][:2] == [
        ["forged"],
        ["second"],
    ]


def test_claim_needs_the_calls_of_the_turn(home: Home) -> None:
    """Knowing what was said is not enough to get at the output of tools."""
    file = write_claude(home)
    home.index()
    claim = turn_ids(home, file.id)[0]
    forged = forge(home, (claim.hex(), "one", "first\ndone"))
    home.index()
    assert claim not in turn_ids(home, forged.id)


def test_claim_on_an_object_that_is_no_turn_is_harmless(home: Home) -> None:
    write_claude(home)
    home.index()
    (row,) = home.rows().values()
    forged = forge(home, (row.manifest.hex(), "[no prompt]", "x"), ("00" * 32, "y", "z"))
    home.index()
    assert row.manifest not in turn_ids(home, forged.id)
    assert [turn.assistant_texts() for turn in home.turns(forged.id)] == [["x"], ["z"]]


@pytest.mark.parametrize(
    "marker", [5, "x", [], {}, {"turn": 5}, {"turn": "zz"}, {"turn": "00"}, {"note": "x"}]
)
def test_malformed_marker_is_ignored(home: Home, marker: Any) -> None:
    file = home.claude()
    file.prompt("one", ccgrep=marker)
    file.answer("first")
    file.write()
    home.index()
    assert home.prompts(file.id) == ["one"]


def test_forged_origin_cannot_make_a_cycle(home: Home) -> None:
    """Sessions that name each other as origin are listed all the same."""
    for seed, other in ((1, 2), (2, 1)):
        file = home.claude(seed)
        file.prompt("one", ccgrep={"origin": home.claude(other).id, "turn": "00" * 32})
        file.answer("first")
        file.write()
    home.index()
    assert len(home.json("list", "--tree")["sessions"]) == 2


def test_codex_fork_begins_with_the_turns_of_its_original(home: Home) -> None:
    original = home.paginated_codex()
    original.meta()
    original.turn("one", "first")
    original.write()
    home.index()
    (id,) = home.rows()
    fork = home.paginated_codex(2)
    base = {"thread_id": id, "end_ordinal_exclusive": 9, "end_byte_offset": 9}
    fork.meta(forked_from_id=id, history_base=base)
    fork.turn("two", "second")
    fork.write()
    home.index()
    (fork_id,) = home.rows().keys() - {id}
    content = rebuild_transcript(home.store, home.rows()[fork_id]).content
    assert [prompt in content for prompt in (b"one", b"two")] == [True, True]
    before = turn_ids(home, fork_id)
    rebuild(home, home.rows()[fork_id])
    home.index()
    assert turn_ids(home, fork_id) == before
    new = hand_over(home.store, home.rows()[fork_id], "claude_code", "/home/sam")
    assert new.content.index(b"first") < new.content.index(b"second")
