"""Clients push, search and forget while the server is killed and restarted.

Nothing that a push confirmed is lost, nothing that was forgotten comes back, and no search returns
a turn that is not there or that the client may not see.
"""

import json
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ccgrep.fulltext.reader import TextReader
from ccgrep.search.request import Request
from ccgrep.team.lexemes import split_words
from ccgrep.team.question import words_question
from ccgrep.team.server import Server, TeamError
from tests.helpers import scale
from tests.helpers.homes import Home
from tests.helpers.team_server import Postgres, Team, wheel_postgres

CLIENTS = scale.of(6, 16)
SECONDS = scale.of(4, 60)
SESSIONS = 12
WORD = "plum"


class Client:
    """A person with a project, and what must be on the server after each confirmed call.

    `states` has for each session the numbers of turns that it may have: after a call that failed,
    the state before it and the one after it. No turns and -1 is a session that was forgotten.
    """

    def __init__(self, team: Team, number: int, data: str, document: dict[str, Any]) -> None:
        self.name = f"chaos{number}"
        self.chance = random.Random(number)
        self.states: dict[str, set[int]] = {}
        self.calls = self.failures = 0
        self._data, self._document = data, document
        self._team = team
        self._server: Server | None = None

    def step(self) -> None:
        """Make one call. A call that fails may have had its effect."""
        act = self.chance.choice([self._push, self._push, self._search, self._search, self._forget])
        if self._server is None:
            self._server = self._team.connect(self.name)
        self.calls += 1
        try:
            act(self._server)
        except TeamError:
            self.failures += 1
            self._server.close()
            self._server = None

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    def session(self, id: str, turns: int) -> dict[str, Any]:
        documents = [
            {**self._document, "number": n, "turn": f"{n:02x}" * 32, "title": self.name}
            for n in range(turns)
        ]
        return {
            "session": id, "project": self.name, "parent": "", "ended": 1, "is_superseded": False,
            "turns": turns, "kind": 0, "source": "codex", "path": "/x", "data": self._data,
            "documents": documents,
        }  # fmt: skip

    def _push(self, server: Server) -> None:
        numbers = self.chance.sample(range(SESSIONS), self.chance.randint(1, 4))
        pushed = {f"{self.name}-{number}": self.chance.randint(1, 9) for number in numbers}
        before = {id: self.states.get(id, {0}) for id in pushed}
        for id, turns in pushed.items():
            self.states[id] = before[id] | {turns} if before[id] != {-1} else {-1}
        sessions = [self.session(id, turns) for id, turns in pushed.items()]
        (done,) = server.call("put", {"sessions": sessions})
        for id, turns in pushed.items():
            is_refused = id in done["refused"]
            assert is_refused if before[id] == {-1} else -1 in before[id] or not is_refused
            self.states[id] = {-1} if is_refused else {turns}

    def _forget(self, server: Server) -> None:
        if self.chance.random() < 0.7:
            return
        id = f"{self.name}-{self.chance.randrange(SESSIONS)}"
        self.states[id] = self.states.get(id, {0}) | {-1}
        server.call("forget", {"sessions": [id]})
        self.states[id] = {-1}

    def _search(self, server: Server) -> None:
        first, *rows = server.call("search", question())
        found: dict[str, set[int]] = {}
        for row in rows:
            assert row["owner"] == self.name
            assert row["title"] == self.name
            found.setdefault(row["session"], set()).add(row["number"])
        assert first["documents"] == len(rows)
        self.check(found)

    def check(self, found: dict[str, set[int]]) -> None:
        """Fail unless the sessions have the turns that they may have."""
        assert found.keys() <= self.states.keys()
        for id, possible in self.states.items():
            numbers = found.get(id, set())
            assert numbers in [set(range(max(turns, 0))) for turns in possible], (id, possible)


def question() -> dict[str, Any]:
    request = Request((WORD,), limit=0)
    return words_question(request, split_words(TextReader.analyzers(), (WORD,)), ())


def make_document(home: Home, team: Team) -> tuple[str, dict[str, Any]]:
    """Return a session's data and a document, as `ccgrep push` makes them."""
    file = home.claude(1)
    file.turn(f"{WORD} in the prompt", "and an answer")
    file.write()
    home.index()
    calls: list[dict[str, Any]] = []

    class Recorder(Server):
        def start(self, function: str, question: dict[str, Any]) -> None:
            calls.append(json.loads(json.dumps(question)))
            super().start(function, question)

    from ccgrep.team.push import TeamPush  # noqa: PLC0415

    server = team.grant("alice", "*")
    server.__class__ = Recorder
    TeamPush(home.store, server, "/nonexistent", lambda _: None).run(("*",))
    (session,) = calls[-1]["sessions"]
    server.call("forget", {"sessions": [session["session"]]})
    server.close()
    return session["data"], session["documents"][0]


def test_nothing_is_lost_resurrected_or_wrong(home: Home) -> None:
    postgres = wheel_postgres("# chaos\n")
    team = postgres.make_team()
    data, document = make_document(home, team)
    clients = [Client(team, number, data, document) for number in range(CLIENTS)]
    for client in clients:
        team.grant(client.name, client.name).close()
    team.admin.close()
    is_over = threading.Event()

    def run(client: Client) -> None:
        while not is_over.is_set():
            client.step()
        client.close()

    with ThreadPoolExecutor(CLIENTS) as pool:
        running = [pool.submit(run, client) for client in clients]
        try:
            kills = kill_and_restart(postgres, time.monotonic() + SECONDS)
        finally:
            is_over.set()
        for one in running:
            one.result()
    assert kills >= 2
    assert sum(client.calls - client.failures for client in clients) > CLIENTS
    for client in clients:
        server = team.connect(client.name)
        client.check(turns_on(server))
        server.close()


def kill_and_restart(postgres: Postgres, deadline: float) -> int:
    kills = 0
    chance = random.Random(3)
    while time.monotonic() < deadline or kills < 2:
        time.sleep(chance.uniform(0.3, 2))  # Any moment is a fair one to be killed at.
        postgres.kill()
        kills += 1
        postgres.start()
    return kills


def turns_on(server: Server) -> dict[str, set[int]]:
    """Return the turns of every session, read one by one."""
    found = {}
    for row in server.call("list", {"filters": {}}):
        _, *turns = server.call("get", {"session": row["session"]})
        found[row["session"]] = {turn["number"] for turn in turns}
    return found
