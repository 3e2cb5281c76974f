"""`ccgrep mark`, `unmark` and `--tag`: marks survive what happens to turns and stores."""

import json

import pytest

from ccgrep.ops.marks import marked_places, toggle
from ccgrep.store.lock import WriterLock
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.terminal import on_terminal
from tests.helpers.transcripts import ClaudeFile


@pytest.fixture
def login(home: Home) -> ClaudeFile:
    """A session of two turns, beside another one and a fork of the first turn."""
    login = home.claude(1, name="aaaaaaaa-login")
    login.turn("the login test is flaky", "It was the clock.")
    login.turn("commit the login fix", "Done.")
    cart = home.claude(2, slug="-cart", cwd="/home/sam/src/cart", name="bbbbbbbb-cart")
    cart.turn("sum the cart", "Login is not involved.")
    fork = login.fork(home.projects / "-fork", 2, 7)
    for file in (login, cart, fork):
        file.write()
    home.index()
    return login


def tagged(home: Home, tag: str = "todo") -> set[str]:
    """Return the turns with a tag as the log has them."""
    done = home.run("log", "--tag", tag, "--format", "{session}:{turn} {prompt}")
    return set(done.stdout.splitlines())


def test_mark_adds_tags_and_unmark_removes_them(home: Home, login: ClaudeFile) -> None:
    done = home.run("mark", "aaaaaaaa:1", "todo", "--note", "check it")
    assert (done.returncode, done.stdout) == (0, "aaaaaaaa:1\ttodo\tcheck it\n")
    assert home.run("mark", "aaaaaaaa:1", "login").stdout == "aaaaaaaa:1\tlogin,todo\tcheck it\n"
    assert home.run("mark", "bbbbbbbb").stdout == "bbbbbbbb\t-\t-\n"
    listed = home.run("mark").stdout.splitlines()
    assert listed == ["bbbbbbbb\t-\t-", "aaaaaaaa:1\tlogin,todo\tcheck it"]
    assert home.run("unmark", "aaaaaaaa:1", "login").stdout == "aaaaaaaa:1\ttodo\tcheck it\n"
    assert home.run("unmark", "bbbbbbbb").stdout == "bbbbbbbb\t-\t-\n"
    done = home.run("unmark", "bbbbbbbb")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "ccgrep: nothing has this mark: run `ccgrep mark` to list the marks\n"
    assert home.run("unmark", "aaaaaaaa:1", "todo").stdout == "aaaaaaaa:1\t-\tcheck it\n"
    assert home.run("unmark", "aaaaaaaa:1").returncode == 0
    assert (home.run("mark").returncode, home.run("mark").stdout) == (1, "")


def test_unmark_of_another_tag_changes_nothing(home: Home, login: ClaudeFile) -> None:
    home.run("mark", "aaaaaaaa:0")
    home.run("mark", "aaaaaaaa:1", "todo")
    home.run("mark", "bbbbbbbb", "--note", "no tag")
    before = home.run("mark").stdout
    for ref in ("aaaaaaaa:0", "aaaaaaaa:1", "bbbbbbbb"):
        done = home.run("unmark", ref, "typo")
        assert (done.returncode, done.stdout) == (1, "")
    assert home.run("mark").stdout == before
    assert home.run("unmark", "aaaaaaaa:1", "todo", "typo").stdout == "aaaaaaaa:1\ttodo\t-\n"
    assert len(home.run("mark").stdout.splitlines()) == 2


def test_mark_as_json_and_from_a_pipe(home: Home, login: ClaudeFile) -> None:
    refs = home.run("-l", "cart").stdout
    assert home.run("mark", "-", "shopping", input=refs).returncode == 0
    home.run("mark", "aaaaaaaa:1", "todo")
    turn, session = home.json("mark")["marks"]
    assert {name: turn[name] for name in ("session_id", "turn", "tags", "note")} == {
        "session_id": "aaaaaaaa-login", "turn": 1, "tags": ["todo"], "note": None,
    }  # fmt: skip
    assert turn["id"] == home.manifest("aaaaaaaa-login").entries[1].turn.hex()
    assert (session["session_id"], session["turn"], session["id"]) == ("bbbbbbbb-cart", None, None)


def test_tag_limits_searches_lists_logs_and_counts(home: Home, login: ClaudeFile) -> None:
    home.run("mark", "aaaaaaaa:1", "todo")
    home.run("mark", "bbbbbbbb", "shop")

    def found(*words: str) -> list[str]:
        return [":".join(line.split(":")[:2]) for line in home.run(*words).stdout.splitlines()]

    assert found("login", "--tag", "todo") == ["aaaaaaaa:1"]
    assert found("-F", "login", "-i", "--tag", "shop", "--no-index") == ["bbbbbbbb:0"]
    assert sorted(found("login", "--tag", "any")) == ["aaaaaaaa:1", "bbbbbbbb:0"]
    assert tagged(home) == {"aaaaaaaa:1 commit the login fix"}
    assert [one["id"] for one in home.json("list", "--tag", "todo")["sessions"]] == [login.id]
    assert home.json("stats", "--tag", "todo", "--tag", "shop")["turns"] == 2
    missed = home.run("nowhere", "--tag", "todo")
    assert missed.stderr == "ccgrep: 0 of 1 turn that passes --tag matches\n"
    for words in (["login"], ["list"], ["log"], ["log", "--day"]):
        unknown = home.run(*words, "--tag", "nope")
        assert (unknown.returncode, unknown.stdout, unknown.stderr) == (
            1, "", "ccgrep: nothing has the tag 'nope': run `ccgrep mark` to list the marks\n",
        )  # fmt: skip


def test_tag_without_any_mark_says_how_to_set_one(home: Home, login: ClaudeFile) -> None:
    for words in (["list", "--tag", "any"], ["--tag", "todo", "login"]):
        done = home.run(*words)
        expected = (1, "", "ccgrep: there are no marks: run `ccgrep mark REF TAG`\n")
        assert (done.returncode, done.stdout, done.stderr) == expected


def test_mark_of_a_turn_holds_for_its_forks(home: Home, login: ClaudeFile) -> None:
    home.run("mark", "aaaaaaaa:0", "todo")
    sessions = home.json("list", "--tag", "todo")["sessions"]
    assert len(sessions) == 2
    assert all(one["is_marked"] and one["tags"] == ["todo"] for one in sessions)
    assert len(tagged(home)) == 1


def test_key_of_pick_removes_only_marks_without_text(home: Home, login: ClaudeFile) -> None:
    home.run("mark", "aaaaaaaa:1", "--note", "keep me")
    fork = next(id for id in home.rows() if id not in ("aaaaaaaa-login", "bbbbbbbb-cart"))
    for ref, marked in (("aaaaaaaa:1", 1), ("aaaaaaaa:0", 2), (f"{fork}:0", 1), ("aaaaaaaa:1", 1)):
        toggle(home.config, ref)
        assert len(home.run("mark").stdout.splitlines()) == marked
    toggle(home.config, "aaaaaaaa:0")
    assert (fork, 0) in marked_places(home.config)


def test_list_shows_a_star(home: Home, login: ClaudeFile) -> None:
    home.run("mark", "bbbbbbbb", "shop")
    titles = {line.split("\t")[4] for line in home.run("list").stdout.splitlines()}
    assert [title for title in titles if "★" in title] == ["★ sum the cart"]
    assert "★ sum the cart" in on_terminal(home, "list", NO_COLOR="1")


def test_completions_know_the_tags(home: Home, login: ClaudeFile) -> None:
    assert home.run("__complete", "tag", "").stdout == "any\t\n"
    home.run("mark", "bbbbbbbb", "shop", "todo")
    assert home.run("__complete", "tag", "").stdout == "any\t\nshop\t\ntodo\t\n"
    assert home.run("__complete", "mark", "sh").stdout == "shop\t\n"
    assert home.run("__complete", "mark", "bbbb").stdout.startswith("bbbbbbbb\t")


def test_mark_of_an_open_turn_follows_it_as_it_grows(home: Home, login: ClaudeFile) -> None:
    login.prompt("one more thing")
    login.append()
    home.run("mark", "aaaaaaaa:2", "todo")
    login.answer("And an answer.")
    login.append()
    assert home.run("answer", "--tag", "todo", "-l").stdout == "aaaaaaaa\n"
    home.run("unmark", "aaaaaaaa:2")
    assert home.run("mark").stdout == ""


@pytest.mark.parametrize(
    "words", [["index", "--full"], ["index", "--recreate"], ["gc"], ["fsck", "--repair"]], ids=str
)
def test_marks_survive(home: Home, login: ClaudeFile, words: list[str]) -> None:
    home.run("mark", "aaaaaaaa:1", "todo", "--note", "kept")
    home.run("mark", "bbbbbbbb", "shop")
    login.path.unlink()  # The archive has the turn still.
    before = home.run("mark").stdout
    assert home.run(*words).returncode == 0
    assert home.run("mark").stdout == before
    assert tagged(home) == {"aaaaaaaa:1 commit the login fix"}
    assert home.run("fsck").returncode == 0


def test_marks_survive_restore_and_appended_turns(home: Home, login: ClaudeFile) -> None:
    home.run("mark", "aaaaaaaa:1", "todo")
    content = login.path.read_bytes()
    login.path.unlink()
    home.run("index")
    assert home.run("restore", "aaaaaaaa").returncode == 0
    assert login.path.read_bytes() == content
    login.turn("later", "yes")
    login.append()
    assert tagged(home) == {"aaaaaaaa:1 commit the login fix"}
    assert_same_as_fresh(home)


def test_forget_drops_the_marks_of_the_session(home: Home, login: ClaudeFile) -> None:
    home.run("mark", "aaaaaaaa:0", "both")
    home.run("mark", "aaaaaaaa:1", "todo", "--note", "a private word")
    home.run("mark", "aaaaaaaa", "todo")
    home.run("mark", "bbbbbbbb", "shop")
    assert home.run("forget", "aaaaaaaa").returncode == 0
    marks = home.json("mark")["marks"]
    assert [(mark["tags"], mark["turn"]) for mark in marks] == [(["shop"], None), (["both"], 0)]
    packs = b"".join(path.read_bytes() for path in home.store_dir.rglob("*.pack"))
    assert b"a private word" not in packs
    # The fork has the first turn still.
    assert len(tagged(home, "both")) == 1


@pytest.mark.parametrize("tag", ["a b", "", "a,b", "any", "x" * 65, "-x", "tab\there", "\x1b[1m"])
def test_invalid_tag_is_an_error(home: Home, login: ClaudeFile, tag: str) -> None:
    done = home.run("mark", "--", "aaaaaaaa:1", tag)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ccgrep: invalid tag '") and "\x1b" not in done.stderr


def test_hostile_notes_are_inert_and_secrets_redacted(home: Home, login: ClaudeFile) -> None:
    token = "ghp_" + "0a1B2c3D4e5F6g7H8i9J" + "0k1L2m3N4o5P6q7R"
    home.run("mark", "aaaaaaaa:1", "--note", f"esc\x1b[31m\ttab\nline {token}")
    line = home.run("mark").stdout
    assert line == "aaaaaaaa:1\t-\tesc tab line [redacted:github-token]\n"
    assert token not in home.run("mark", "--json").stdout
    assert token in home.run("mark", "--no-redact").stdout


def test_note_without_a_ref_is_an_error(home: Home, login: ClaudeFile) -> None:
    done = home.run("mark", "--note", "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--note needs a REF" in done.stderr
    assert json.loads(home.run("mark", "--json").stdout)["marks"] == []


def test_mark_ingests_first_and_waits_for_no_writer_on_request(home: Home) -> None:
    file = home.claude(1, name="aaaaaaaa-new")
    file.turn("not indexed yet", "yes")
    file.write()
    missing = home.run("mark", "aaaaaaaa:0", "--no-refresh")
    assert (missing.returncode, "there is no store in" in missing.stderr) == (2, True)
    assert home.run("mark", "aaaaaaaa:0", "todo").stdout == "aaaaaaaa:0\ttodo\t-\n"
    with WriterLock(str(home.store_dir / "lock"), 0):
        busy = home.run("mark", "aaaaaaaa:0", "later", "--no-wait", "--no-refresh")
    assert (busy.returncode, busy.stdout) == (2, "")
    assert home.run("mark").stdout == "aaaaaaaa:0\ttodo\t-\n"
