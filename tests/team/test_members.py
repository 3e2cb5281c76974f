"""Members of the same project: what one pushes never breaks or replaces what others see."""

import json
from base64 import b64encode
from typing import Any

import pytest

from ccgrep.store.objects import compress
from ccgrep.team.address import parse_address
from ccgrep.team.push import TeamPush
from ccgrep.team.server import Server, TeamError
from tests.helpers.homes import Home
from tests.helpers.stored import write_session
from tests.helpers.team_server import Team

UNREADABLE = "[this turn cannot be read]"


class Recorder(Server):
    """Keeps the last session that was pushed."""

    pushed: dict[str, Any]

    def start(self, function: str, question: dict[str, Any]) -> None:
        if question.get("sessions"):
            self.pushed = json.loads(json.dumps(question))["sessions"][0]
        super().start(function, question)


def push_as(team: Team, pushing: Home, name: str, seed: int, text: str) -> Recorder:
    """Push a session of `text` from a home of that person, and return the connection."""
    team.grant(name, "shop").close()
    server = Recorder(parse_address(team.url(name)), 30.0)
    home = Home(pushing.directory.parent / f"home-of-{name}")
    file = home.claude(seed)
    file.turn(f"prompt of {name} {text}", "answer")
    file.write()
    home.index()
    TeamPush(home.store, server, "/nonexistent", lambda _: None).run(("*",))
    return server


def base64(data: bytes) -> str:
    return b64encode(data).decode()


@pytest.mark.parametrize(
    "fields",
    [
        {"body": base64(b"damaged")},
        {"body": ""},
        {"body": base64(compress(b"\x93\x01\x02\x03"))},
        {"body": base64(compress(bytes(2**28 + 1)))},
        {"entry": "AAAA"},
        {"title": "\x1b[31m\u202e"},
        {"started": 2**62},
        {"started": -(2**62)},
        {"lengths": [2**31 - 1] * 6},
        {"said": "prompt " * 90_000},
    ],
    ids=["damaged", "empty", "other", "huge", "entry", "title", "late", "early", "long", "full"],
)
def test_damaged_turn_is_shown_as_such_and_breaks_nothing(
    team: Team, pushing: Home, fields: dict[str, Any]
) -> None:
    pushing.run("push", "team")
    eve = push_as(team, pushing, "eve", 7, "")
    session = eve.pushed
    session["documents"][0] |= fields
    eve.call("put", {"sessions": [{**session, "session": "damaged"}]})
    eve.call("forget", {"sessions": [session["session"]]})
    for arguments in (("prompt",), ("prompt 1",), ("-F", "prompt"), ("--json", "prompt")):
        done = pushing.run("-R", "team", *arguments, "-n", "0")
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert "\x1b" not in done.stdout
        assert done.stdout.count("answer 1") + done.stdout.count("prompt 1") >= 3
    shown = pushing.run("show", "-R", "team", "damaged")
    assert shown.returncode == 0
    assert (UNREADABLE in shown.stdout) == ("body" in fields)
    assert pushing.run("list", "-R", "team").returncode == 0
    assert pushing.run("stats", "-R", "team").returncode == 0


def test_damaged_session_is_listed_as_such(team: Team, pushing: Home) -> None:
    pushing.run("push", "team")
    eve = push_as(team, pushing, "eve", 7, "")
    eve.call("put", {"sessions": [{**eve.pushed, "session": "damaged", "data": "AAAA"}]})
    listed = pushing.run("list", "-R", "team").stdout
    assert "[this session cannot be read]" in listed
    assert len(listed.splitlines()) == 4
    assert pushing.run("show", "-R", "team", "damaged").returncode == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"lengths": []},
        {"lengths": [-1] * 6},
        {"turn": ""},
        {"turn": "ff" * 9},
        {"number": -1},
        {"number": None},
    ],
    ids=str,
)
def test_malformed_turn_is_refused(team: Team, pushing: Home, fields: dict[str, Any]) -> None:
    eve = push_as(team, pushing, "eve", 7, "")
    session = eve.pushed
    session["documents"][0] |= fields
    with pytest.raises(TeamError):
        eve.call("put", {"sessions": [session]})
    with pytest.raises(TeamError):
        eve.call("put", {"sessions": [{**session, "kind": 77, "documents": []}, session]})


def test_same_session_of_two_people_is_that_of_the_first(team: Team, pushing: Home) -> None:
    pushing.run("push", "team")
    mine = pushing.run("-R", "team", "prompt", "-n", "0").stdout
    id = pushing.run("-R", "team", "-F", "prompt 1 0", "--full-id").stdout.partition(":")[0]
    write_session(pushing, 1)
    eve = push_as(team, pushing, "alice", 1, "plum")
    assert eve.pushed["session"] == id
    found = pushing.run("-R", "team", "prompt", "-n", "0").stdout
    assert [line.split(":", 3)[3] for line in found.splitlines()] == [
        line.split(":", 3)[3] for line in mine.splitlines()
    ]
    for ref in (id, id[:8]):
        assert "user: prompt 1 0" in pushing.run("show", "-R", "team", ref).stdout
    # A turn that only the other one has is shown with its own text.
    theirs = pushing.json("-R", "team", "plum", "-F")
    assert "prompt of alice plum" in json.dumps(theirs)
    listed = pushing.run("list", "-R", "team").stdout.splitlines()
    assert sorted(line.split("\t")[5] for line in listed) == ["alice", "bob", "bob"]
