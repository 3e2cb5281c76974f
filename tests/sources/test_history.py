"""Sessions whose transcript was deleted: prompts and titles are recovered from side files."""

import json
from typing import Any

import pytest

from ccgrep.model import Session, Turn
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile, encode, iso

LOST = "11111111-2222-4333-8444-555555555555"
TIME = 1_790_000_000_000


def read(home: Home, file: ClaudeFile) -> Session:
    file.write()
    home.index()
    return home.rows()[file.id].session


def typed(text: str, time: int, id: str = LOST, **fields: Any) -> bytes:
    record = {"display": text, "pastedContents": {}, "timestamp": time, "project": "/p", **fields}
    return encode({**record, "sessionId": id})


def write_history(home: Home, *lines: bytes) -> None:
    (home.projects.parent / "history.jsonl").write_bytes(b"".join(lines))


def write_index(home: Home, **fields: Any) -> None:
    entry = {
        "sessionId": LOST,
        "fullPath": "/gone.jsonl",
        "firstPrompt": "fix the parser",
        "summary": "Parser fixed",
        "created": iso(TIME),
        "modified": iso(TIME + 60_000),
        "gitBranch": "main",
        "projectPath": "/p",
        "isSidechain": False,
        **fields,
    }
    path = home.projects / "-p" / "sessions-index.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"version": 1, "originalPath": "/p", "entries": [entry]}))


def test_history_recovers_the_prompts_of_a_deleted_session(home: Home) -> None:
    write_history(home, typed("one", TIME), typed("two", TIME + 5_000))
    home.index()
    assert home.turns(LOST) == [Turn("one"), Turn("two")]
    row = home.rows()[LOST]
    assert row.session == Session(
        id=LOST,
        source="claude_code",
        project="/p",
        cwd="/p",
        title="one",
        title_origin="prompt",
        started=TIME,
        ended=TIME + 5_000,
        turns=2,
        messages=2,
        is_prompt_only=True,
    )
    assert (row.is_gone, row.session.is_complete) == (True, False)


def test_pasted_text_replaces_its_placeholder(home: Home) -> None:
    pasted = {"1": {"id": 1, "type": "text", "content": "Traceback ..."}}
    hashed = {"2": {"id": 2, "type": "text", "contentHash": "abc"}}
    write_history(
        home,
        typed("why? [Pasted text #1 +9 lines]", TIME, pastedContents=pasted),
        typed("and [Pasted text #2 +9 lines]", TIME + 1, pastedContents=hashed),
    )
    home.index()
    assert home.prompts(LOST) == ["why? Traceback ...", "and [Pasted text #2 +9 lines]"]


def test_issue_22_12_paste_given_by_its_hash_is_read_from_the_paste_cache(home: Home) -> None:
    cache = home.projects.parent / "paste-cache"
    cache.mkdir()
    (cache / "0123456789abcdef.txt").write_text("Traceback ...")
    pasted = {"2": {"id": 2, "type": "text", "contentHash": "0123456789abcdef"}}
    line = typed("why? [Pasted text #2 +9 lines]", TIME, pastedContents=pasted)
    write_history(home, line)
    home.index()
    assert home.prompts(LOST) == ["why? Traceback ..."]
    # Claude Code deletes the cache after a while.
    (cache / "0123456789abcdef.txt").unlink()
    write_history(home, line, typed("next", TIME + 1))
    home.index()
    assert home.prompts(LOST) == ["why? Traceback ...", "next"]


@pytest.mark.parametrize("hash", ["../secret", "..", "", 7, ["0123456789abcdef"], "0" * 65])
def test_issue_22_12_content_hash_never_leaves_the_paste_cache(home: Home, hash: Any) -> None:
    root = home.projects.parent
    (root / "paste-cache").mkdir()
    (root / "secret.txt").write_text("secret")
    (root / "paste-cache" / f"{'a' * 16}.txt").symlink_to(root / "secret.txt")
    pasted = {"1": {"contentHash": hash}, "2": {"contentHash": "a" * 16}}
    text = "why? [Pasted text #1] [Pasted text #2]"
    write_history(home, typed(text, TIME, pastedContents=pasted))
    home.index()
    assert home.prompts(LOST) == [text]


def test_codex_history_recovers_prompts(home: Home) -> None:
    lines = [
        encode({"session_id": LOST, "ts": TIME // 1000 + n, "text": f"prompt {n}"}) for n in (0, 1)
    ]
    (home.codex_sessions.parent / "history.jsonl").write_bytes(b"".join(lines))
    home.index()
    session = home.rows()[LOST].session
    assert (session.source, session.is_prompt_only, session.started) == ("codex", True, TIME)
    assert home.prompts(LOST) == ["prompt 0", "prompt 1"]


def test_sessions_index_recovers_title_and_first_prompt(home: Home) -> None:
    write_index(home)
    home.index()
    assert home.turns(LOST) == [Turn("fix the parser")]
    assert home.rows()[LOST].session == Session(
        id=LOST,
        source="claude_code",
        project="/p",
        cwd="/p",
        branch="main",
        title="Parser fixed",
        title_origin="summary",
        started=TIME,
        ended=TIME + 60_000,
        turns=1,
        messages=1,
        is_prompt_only=True,
    )


def test_history_and_sessions_index_complement_each_other(home: Home) -> None:
    write_index(home)
    write_history(home, typed("fix the parser", TIME), typed("and the lexer", TIME + 1))
    home.index()
    assert home.rows()[LOST].session.title == "Parser fixed"
    assert home.prompts(LOST) == ["fix the parser", "and the lexer"]


def test_transcript_wins_over_history(home: Home) -> None:
    file = home.claude(session_id=LOST)
    file.turn("one", "first")
    write_history(home, typed("one", TIME), typed("typed but not sent", TIME + 1))
    write_index(home)
    session = read(home, file)
    assert (session.title, session.is_prompt_only) == ("Parser fixed", False)
    assert (list(home.rows()), home.prompts(LOST)) == ([LOST], ["one"])


def test_later_transcript_replaces_recovered_prompts(home: Home) -> None:
    write_history(home, typed("one", TIME))
    home.index()
    file = home.claude(session_id=LOST)
    file.turn("one", "first")
    session = read(home, file)
    assert (session.is_prompt_only, home.rows()[LOST].is_gone) == (False, False)
    assert list(home.rows()) == [LOST]
    assert_same_as_fresh(home)


def test_deleted_transcript_keeps_its_session_complete(home: Home) -> None:
    file = home.claude(session_id=LOST)
    file.turn("one", "first")
    write_history(home, typed("one", TIME))
    before = (read(home, file), home.turns(LOST))
    file.path.unlink()
    write_history(home, typed("one", TIME), typed("two", TIME + 1))
    home.index()
    row = home.rows()[LOST]
    assert ((row.session, home.turns(LOST)), row.is_gone) == (before, True)


def test_malformed_sessions_index_is_ignored(home: Home) -> None:
    file = home.claude()
    file.turn("one", "first")
    (home.projects / "-p").mkdir()
    (home.projects / "-p" / "sessions-index.json").write_text('{"version": 1, "entr')
    read(home, file)
    assert list(home.rows()) == [file.id]
