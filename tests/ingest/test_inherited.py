"""Turns that a worker of Claude Code copied are kept if they exist nowhere else."""

import json
from itertools import permutations
from pathlib import Path

import pytest

from ccgrep.store.manifest import Row
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile

SUMMARIZE = "Your task is to create a detailed summary of the conversation"


def write_main(home: Home, turns: int = 4) -> ClaudeFile:
    """Return a session that is not on disk."""
    main = home.claude()
    for number in range(turns):
        main.turn(f"prompt {number}", f"answer {number}", f"make {number}", f"made {number}")
    return main


def write_worker(
    home: Home,
    main: ClaudeFile,
    name: str = "agent-acompact-1a2b",
    first: int = 0,
    end: int | None = None,
    seed: int = 50,
    prompt: str = SUMMARIZE,
) -> ClaudeFile:
    """Write a worker that copies records of the main session, with new uuids."""
    worker = home.subagent(main, name, seed)
    worker.cwd = main.cwd
    for record in main.records[first:end]:
        assert isinstance(record, dict)
        copy = {**record, "isSidechain": True, "uuid": worker.uuid(), "parentUuid": None}
        worker.records.append(copy)
        worker.now_ms = main.now_ms
    worker.prompt(prompt)
    worker.answer(f"by {name}")
    worker.write()
    return worker


def recovered(home: Home, id: str) -> tuple[list[str], Row]:
    row = home.rows()[id]
    assert (row.session.is_recovered, row.is_gone, row.files) == (True, True, ())
    assert row.session.kind == "main"
    return home.prompts(id), row


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("agent-acompact-1a2b", SUMMARIZE),
        ("agent-aprompt_suggestion-1a2b", "[SUGGESTION MODE: suggest what they might type]"),
        ("agent-aside_question-1a2b", "what does main.py do?"),
    ],
)
def test_turns_inherited_from_a_lost_session_are_kept(home: Home, name: str, prompt: str) -> None:
    main = write_main(home)
    worker = write_worker(home, main, name, prompt=prompt)
    home.index()
    inherited, (prompts, row) = home.turns(main.id), recovered(home, main.id)
    assert prompts == [f"prompt {n}" for n in range(4)]
    assert (row.session.title, row.session.cwd) == ("prompt 0", main.cwd)
    assert (row.session.turns, row.session.input_tokens) == (4, 80)
    assert len(home.turns(worker.id)) == 1
    assert home.rows()[worker.id].session.parent == main.id
    found = home.json("answer 2", "-F")["results"]
    assert [(hit["session_id"], hit["turn"]) for hit in found] == [(main.id, 2)]

    main.write()
    home.index()
    assert home.turns(main.id) == inherited


def test_recovered_session_says_that_it_is_partial(home: Home) -> None:
    main = write_main(home, 2)
    write_worker(home, main)
    home.index()
    listed = home.run("list").stdout
    assert "(recovered) prompt 0" in listed
    shown = home.run("show", main.id).stdout
    note = "Turns may be missing: the transcript was deleted before it was indexed."
    assert note in shown
    (session,) = (s for s in home.json("list")["sessions"] if s["id"] == main.id)
    assert (session["is_recovered"], session["is_complete"]) == (True, False)
    resumed = home.run("resume", main.id)
    assert (resumed.returncode, resumed.stdout) == (1, "")


@pytest.mark.parametrize("order", ["parent first", "worker first", "together"])
def test_transcript_defines_a_session_that_workers_copied(home: Home, order: str) -> None:
    main = write_main(home)
    if order == "parent first":
        main.write()
        home.index()
    write_worker(home, main, end=11)
    if order == "worker first":
        home.index()
        recovered(home, main.id)
    main.write()
    home.index()
    assert home.prompts(main.id) == [f"prompt {n}" for n in range(4)]
    assert home.rows().keys() == {main.id, "agent-acompact-1a2b"}
    assert not home.rows()[main.id].session.is_recovered
    assert_same_as_fresh(home)


def test_transcript_that_was_indexed_and_deleted_defines_its_session(home: Home) -> None:
    main = write_main(home, 2)
    main.write()
    home.index()
    main.path.unlink()
    main.turn("never indexed", "but copied")
    write_worker(home, main)
    home.index()
    assert home.prompts(main.id) == ["prompt 0", "prompt 1"]
    assert not home.rows()[main.id].session.is_recovered
    assert home.prompts(f"{main.id}~2") == ["never indexed"]


@pytest.mark.parametrize("order", ["parent first", "worker first", "together"])
def test_text_that_only_a_worker_holds_is_found(home: Home, order: str) -> None:
    main = write_main(home, 2)
    texts = {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a last word"}
    main.prompt("one more")
    main.blocks(*texts)
    lost = main.records.pop()
    if order == "parent first":
        main.write()
        home.index()
    main.records.append(lost)
    write_worker(home, main, "agent-aprompt_suggestion-1a2b")
    main.records.pop()
    if order == "worker first":
        home.index()
    main.write()
    home.index()
    assert home.prompts(main.id) == ["prompt 0", "prompt 1", "one more"]
    assert home.prompts(f"{main.id}~2") == ["one more"]
    assert len(home.json("a last word", "-F")["results"]) == 1
    home.index(is_full=True)
    assert home.rows().keys() == {main.id, f"{main.id}~2", "agent-aprompt_suggestion-1a2b"}
    assert_same_as_fresh(home)


PARTS = {
    "one extends the other": ((0, 8), (0, 16)),
    "consecutive": ((0, 4), (4, 12), (12, 16)),
    "overlapping": ((0, 10), (6, 16)),
    "in the middle of a turn": ((0, 6), (6, 16)),
}


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_workers_of_one_session_are_joined_in_any_order(
    home: Home, tmp_path: Path, parts: tuple[tuple[int, int], ...]
) -> None:
    seen: set[str] = set()
    main = write_main(home)
    for number, order in enumerate(permutations(range(len(parts)))):
        one = Home(tmp_path / str(number))
        main.path = one.projects / "-home-sam-src-shop" / main.path.name
        for part in order:
            first, end = parts[part]
            write_worker(one, main, f"agent-acompact-{part}abc", first, end, seed=50 + part)
            one.index()
        prompts, row = recovered(one, main.id)
        assert [p for p in prompts if p] == [f"prompt {n}" for n in range(4)]
        answers = [text for turn in one.turns(main.id) for text in turn.assistant_texts()]
        assert answers == [f"answer {n}" for n in range(4)]
        seen.add(repr((row.session, one.turns(main.id))))
    assert len(seen) == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_worker_that_sees_one_turn_where_another_sees_two_loses_no_prompt(
    home: Home, order: tuple[int, int]
) -> None:
    main = home.claude()
    main.turn("the plan", "on it")
    main.prompt("Tool loaded.")
    main.turn("", "more", "make", "made")
    one_turn = [record for record in main.records if "Tool loaded." not in str(record)]
    two_turns = main.records
    for number in order:
        main.records = (one_turn, two_turns)[number]
        write_worker(home, main, f"agent-acompact-{number}abc", seed=50 + number)
        home.index()
    prompts, _ = recovered(home, main.id)
    assert prompts == ["the plan", "Tool loaded."]
    answers = [text for turn in home.turns(main.id) for text in turn.assistant_texts()]
    assert answers == ["on it", "more"]


def test_turn_that_only_a_worker_holds_survives_the_transcript(home: Home) -> None:
    main = write_main(home)
    write_worker(home, main)
    home.index()
    del main.records[4:8]
    main.write()
    home.index()
    assert home.prompts(main.id) == ["prompt 0", "prompt 2", "prompt 3"]
    left = home.rows()[f"{main.id}~2"]
    assert (left.is_superseded, left.session.turns) == (True, 1)
    assert home.prompts(f"{main.id}~2") == ["prompt 1"]


@pytest.mark.parametrize("prompt", [SUMMARIZE, "what does main.py do?"])
def test_fragment_of_a_turn_is_kept_until_its_transcript_appears(home: Home, prompt: str) -> None:
    main = write_main(home, 2)
    write_worker(home, main, first=6, prompt=prompt)
    home.index()
    assert recovered(home, main.id)[0] == [""]
    assert home.rows()[main.id].session.title == ""
    (turn,) = home.turns(main.id)
    assert [call.result and call.result.text for call in turn.calls()] == ["made 1"]
    main.write()
    home.index()
    assert home.rows().keys() == {main.id, "agent-acompact-1a2b"}


def test_suggestion_prompt_is_not_inherited(home: Home) -> None:
    main = write_main(home, 1)
    main.turn("[SUGGESTION MODE: suggest what they might type]", "run the tests")
    write_worker(home, main)
    home.index()
    assert recovered(home, main.id)[0] == ["prompt 0"]


def test_prompts_of_the_history_stay_beside_inherited_turns(home: Home) -> None:
    main = write_main(home, 2)
    typed = [("prompt 1", main.now_ms), ("typed after the compaction", main.now_ms + 60_000)]
    lines = [
        {"display": text, "timestamp": ms, "project": main.cwd, "sessionId": main.session_id}
        for text, ms in typed
    ]
    history = home.directory / ".claude" / "history.jsonl"
    history.write_text("".join(json.dumps(line) + "\n" for line in lines))
    home.index()
    assert home.rows()[main.id].session.is_prompt_only
    write_worker(home, main)
    home.index()
    prompts = recovered(home, main.id)[0]
    assert prompts == ["prompt 0", "prompt 1", "typed after the compaction"]


def test_worker_of_a_forgotten_session_recovers_nothing(home: Home) -> None:
    main = write_main(home, 1)
    write_worker(home, main)
    home.index()
    assert home.run("forget", main.id).returncode == 0
    write_worker(home, main, "agent-acompact-3c4d", seed=60)
    home.index()
    assert main.id not in home.rows()
