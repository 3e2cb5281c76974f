"""Transcripts that are emptied, rewritten, unreadable or lost."""

import os
import subprocess
import sys

from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.stored import write_session
from tests.helpers.transcripts import encode


def test_transcript_without_turns_keeps_recovered_prompts(home: Home) -> None:
    file = home.claude()
    history = home.directory / ".claude" / "history.jsonl"
    lines = [
        {"display": text, "timestamp": 1_790_000_000_000 + n, "sessionId": file.id}
        for n, text in enumerate(("first thought", "second thought"))
    ]
    history.write_bytes(b"".join(map(encode, lines)))
    home.index()
    assert home.prompts(file.id) == ["first thought", "second thought"]
    file.meta("custom-title", customTitle="only a title")
    file.write()
    home.index()
    assert home.prompts(file.id) == ["first thought", "second thought"]
    file.turn("first thought", "an answer")
    file.turn("second thought", "another")
    file.write()
    home.index()
    assert [len(turn.steps) for turn in home.turns(file.id)] == [1, 1]


def test_recovered_prompts_do_not_depend_on_order_of_hints(home: Home) -> None:
    id = home.claude(5).id
    prompt = "why does the consumer lag behind on one partition only, and since when exactly"
    folder = home.projects / "-p"
    folder.mkdir()
    entry = {"sessionId": id, "firstPrompt": prompt[:60] + "…", "created": "2026-09-21T10:00:00Z"}
    (folder / "sessions-index.json").write_bytes(encode({"version": 1, "entries": [entry]}))
    home.index()
    history = home.directory / ".claude" / "history.jsonl"
    for number, text in enumerate((prompt, "go on")):
        line = {"display": text, "timestamp": 1_790_000_000_000 + number, "sessionId": id}
        history.open("ab").write(encode(line))
        home.index()
    assert home.prompts(id) == [prompt, "go on"]
    history.write_bytes(
        encode({"display": "third", "timestamp": 1_790_000_000_009, "sessionId": id})
    )
    home.index()
    assert home.prompts(id) == [prompt, "go on", "third"]


def test_tail_rewritten_at_same_size_is_read(home: Home) -> None:
    file = home.claude()
    file.turn("one", "two")
    whole = b"".join(file.lines())
    file.path.parent.mkdir(parents=True)
    cut = len(whole) - 40
    file.path.write_bytes(whole[:cut] + bytes(40))
    home.index()
    file.path.write_bytes(whole)
    home.index()
    assert_same_as_fresh(home)
    assert len(home.turns(file.id)[0].steps) == 1


def test_emptied_transcript_keeps_its_turns(home: Home) -> None:
    file = write_session(home)
    home.index()
    file.path.write_bytes(b"")
    home.index()
    assert len(home.prompts(file.id)) == 3
    assert home.run("list").stdout.startswith(file.id[:8])


def test_unreadable_transcript_is_reported(home: Home) -> None:
    file = write_session(home, 1)
    write_session(home, 2)
    file.path.chmod(0)
    # Root may read everything, unless it gives up its capabilities.
    drop = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*drop, sys.executable, "-m", "ccgrep", "index"],
        env=home.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"{file.path}: Permission denied" in done.stderr
    assert "1 read" in done.stderr
