"""REFs: every command explains a wrong REF in the same words, and short ids are unique."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccgrep.errors import RefError
from ccgrep.refs import Ref, parse, short_ids
from tests.helpers.homes import Home
from tests.helpers.transcripts import ClaudeFile, CodexFile

WAYS = {
    "store": ["show"],
    "full-text index": ["-F", "widget", "--session"],
    "scan": ["-F", "widget", "--no-index", "--session"],
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("refs") / "home")
    for seed in (1, 2):
        file = home.claude(seed, name=f"deadbeef-{seed}")
        file.turn(f"widget {seed}", "ok")
        file.write()
    home.index()
    return home


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("zzz", "no session matches 'zzz': run `ccgrep list`"),
        ("beef-2", "no session matches 'beef-2', did you mean:\n  deadbeef-2  widget 2"),
        ("WIDGET", "no session matches 'WIDGET', did you mean:\n"
         "  deadbeef-1  widget 1\n  deadbeef-2  widget 2"),
        ("dead:1", "'dead' is ambiguous, it could be:\n"
         "  deadbeef-1  widget 1\n  deadbeef-2  widget 2"),
        ("dead:-1", "'-1' is not a turn number: pass SESSION:TURN, such as abc:3"),
        ("dead:1-3:0.5:x", "'1-3' is not a turn number: pass SESSION:TURN, such as abc:3"),
        ("a b", "'a b' is not a REF: pass a session id, SESSION:TURN or @hash"),
        ("", "'' is not a REF: pass a session id, SESSION:TURN or @hash"),
    ],
)  # fmt: skip
def test_wrong_ref_has_one_explanation(shop: Home, way: str, ref: str, message: str) -> None:
    done = shop.run(*WAYS[way], ref)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"ccgrep: {message}\n")


@pytest.mark.parametrize("command", [["resume"], ["-F", "widget", "--session"]])
def test_hash_of_a_turn_names_no_session(shop: Home, command: list[str]) -> None:
    done = shop.run(*command, "@0123456789abcdef")
    assert done.returncode == 2
    assert done.stderr == "ccgrep: '@0123456789abcdef' names a turn: pass the session id\n"


@pytest.mark.parametrize(
    ("typed", "parsed"),
    [
        ("abc", Ref("abc")),
        (" abc:12\n", Ref("abc", 12)),
        ("abc:3:0.873:a line: with colons", Ref("abc", 3)),
        ("abc:", Ref("abc")),
        ("abc:99999999999", Ref("abc", 999999999)),
        ("@0123abc", Ref(hash="0123abc")),
    ],
)
def test_ref_is_parsed(typed: str, parsed: Ref) -> None:
    assert parse(typed) == parsed


@pytest.mark.parametrize("typed", ["", ":3", "a b", "a :3", "@abc", "@ABCDEF0123", "@" + "0" * 65])
def test_other_text_is_not_a_ref(typed: str) -> None:
    with pytest.raises(RefError, match="is not a REF"):
        parse(typed)


@given(st.sets(st.text("ab", min_size=1, max_size=14)), st.sets(st.text("ab", max_size=14)))
def test_short_id_is_the_shortest_prefix_of_8_that_no_other_session_has(
    ids: set[str], others: set[str]
) -> None:
    every = ids | others
    short = short_ids(ids, lambda prefix: [id for id in others if id.startswith(prefix)])
    assert short.keys() == ids
    for id, prefix in short.items():
        assert id.startswith(prefix)
        assert len(prefix) >= min(len(id), 8)
        if prefix != id:
            assert [other for other in every if other.startswith(prefix)] == [id]
        if len(prefix) > 8:
            assert len([other for other in every if other.startswith(prefix[:-1])]) > 1


def test_issue_22_5_short_session_id_stays_as_it_is(home: Home, tmp_path: Path) -> None:
    for id in ("7", "a1", "a1b2c3d4-e5f6"):
        file = home.codex(len(id), cwd=str(tmp_path))
        file.id = id
        file.meta()
        file.turn(f"question {id}", "answer")
        file.write()
    assert home.run("-F", "question", "-l").stdout.split() == ["a1b2c3d4", "a1", "7"]
    for way in WAYS.values():
        found = home.run(*[{"widget": "question"}.get(word, word) for word in way], "a1")
        assert ("question a1" in found.stdout, "question a1b" in found.stdout) == (True, False)
    assert home.run("show", "7:0").returncode == 0
    assert home.run("resume", "a1").stdout == f"cd {tmp_path} && codex resume a1\n"


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_issue_22_5_resume_prints_no_id_that_ccgrep_made_up(
    home: Home, tmp_path: Path, agent: str
) -> None:
    file: ClaudeFile | CodexFile
    if agent == "codex":
        file = home.codex(cwd=str(tmp_path))
        file.id = "not an id"
        file.meta()
    else:
        file = home.claude(name="not an id", cwd=str(tmp_path))
    file.turn("question", "answer")
    file.write()
    home.index()
    (id,) = home.rows()
    program = {"claude": "claude --resume", "codex": "codex resume"}[agent]
    done = home.run("resume", id)
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        f"ccgrep: cannot resume {id}, ccgrep made up this id: "
        f"run `{program}` and choose the session\n",
    )
