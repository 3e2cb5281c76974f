"""Several servers behind PL/Proxy: the same functions, and the same rights."""

import json
from collections.abc import Iterator

import pytest

from ccgrep.errors import UsageError
from ccgrep.team import admin
from ccgrep.team.server import VERSION, Server, TeamError
from tests.helpers import scale
from tests.helpers.homes import Home
from tests.helpers.stored import write_session
from tests.helpers.team_server import ShardedTeam, cluster

pytestmark = pytest.mark.skipif(not scale.IS_LONG, reason="four servers: in `sh scripts/long`")
SESSIONS = 24
SECRET = "prompt"


@pytest.fixture
def team() -> ShardedTeam:
    return cluster().make_team()


@pytest.fixture
def pushing(team: ShardedTeam, home: Home) -> Home:
    """Return a home whose sessions bob has pushed to all shards."""
    team.grant("bob", "shop").close()
    for seed in range(1, SESSIONS + 1):
        write_session(home, seed)
    home.index()
    home.run("remote", "add", "team", team.url("bob"), "-p", "*")
    assert home.run("push", "team").returncode == 0
    return home


@pytest.fixture
def eve(team: ShardedTeam, pushing: Home) -> Iterator[Server]:
    assert pushing
    server = team.grant("eve", "evil")
    yield server
    server.close()


def sessions(team: ShardedTeam) -> list[list[str]]:
    rows = [one.admin.query("select session from cc.session order by 1") for one in team.shards]
    return [[row[0].decode() for row in part] for part in rows]


def test_sessions_are_on_all_shards_and_read_as_from_a_store(
    team: ShardedTeam, pushing: Home
) -> None:
    parts = sessions(team)
    assert all(parts)
    assert sum(map(len, parts)) == SESSIONS
    rows = [line.split("\t")[:5] for line in pushing.run("list", "-R", "team").stdout.splitlines()]
    own = [line.split("\t") for line in pushing.run("list").stdout.splitlines()]
    assert rows == own
    for ref in (own[0][0], f"{own[-1][0]}:1", parts[2][0]):
        shown = pushing.run("show", "-R", "team", ref).stdout
        assert shown.replace("Machine: bob\n", "") == pushing.run("show", ref).stdout
    assert pushing.run("show", "-R", "team", "ffffffff").returncode == 2
    assert pushing.json("stats", "-R", "team")["sessions"] == SESSIONS
    assert pushing.run("-R", "team", "prompt", "--max-sessions", "2").returncode == 2


def test_ambiguous_prefix_names_sessions_of_all_shards(team: ShardedTeam, pushing: Home) -> None:
    bob = team.connect("bob")
    rows = bob.call("get", {"session": ""})
    assert rows == []
    letters = {id[0] for part in sessions(team) for id in part}
    for letter in letters:
        ids = {id for part in sessions(team) for id in part if id.startswith(letter)}
        found = bob.call("get", {"session": letter})
        if len(ids) > 1:
            assert {row["match"] for row in found} <= ids
            assert len(found) > 1
        else:
            assert found[0]["session"] in ids
    assert pushing


def test_forgotten_session_is_gone_and_refused_on_every_shard(
    team: ShardedTeam, pushing: Home
) -> None:
    ids = [part[0] for part in sessions(team)]
    done = pushing.run("forget", "-R", "team", *ids)
    assert done.stdout == "3 sessions forgotten on team\n"
    (pushing.store_dir / "remotes" / "team" / "pushed").unlink()
    assert "has forgotten 3 sessions" in pushing.run("push", "team").stderr
    assert not {id for part in sessions(team) for id in part} & set(ids)


def test_sub_agents_on_other_shards_are_forgotten_too(team: ShardedTeam, pushing: Home) -> None:
    bob = team.connect("bob")
    data = bob.call("list", {"limit": 1})[0]["data"]
    parent = sessions(team)[0][0]
    chain = [parent]
    for number in range(9):
        one = {
            "session": f"agent-{number}", "project": "shop", "parent": chain[-1], "ended": 1,
            "is_superseded": False, "turns": 0, "kind": 1, "source": "codex", "path": "/x",
            "data": data, "documents": [],
        }  # fmt: skip
        bob.call("put", {"sessions": [one]})
        chain.append(f"agent-{number}")
    assert sum(any(id.startswith("agent") for id in part) for part in sessions(team)) > 1
    (gone,) = bob.call("forget", {"sessions": [parent]})
    assert sorted(gone["sessions"]) == sorted(chain)
    assert pushing


def test_member_of_another_project_sees_nothing(
    team: ShardedTeam, pushing: Home, eve: Server
) -> None:
    before = sessions(team)
    victim = before[0][0]
    pushing.run("remote", "add", "eve", team.url("eve"), "-p", "*")
    for arguments in (("prompt",), ("-F", "prompt"), ("-E", "pro.pt"), ("-F", "nothing", "-v")):
        done = pushing.run("-R", "eve", *arguments)
        assert (done.returncode, done.stdout) == (1, ""), arguments
    assert pushing.run("list", "-R", "eve").stdout == ""
    assert pushing.run("show", "-R", "eve", victim).returncode == 2
    assert pushing.json("stats", "-R", "eve")["turns"] == 0
    eve.call("forget", {"sessions": [victim]})
    assert sessions(team) == before
    with pytest.raises(TeamError, match="may not push"):
        pushing_as(eve, "shop")
    team.revoke("eve")
    with pytest.raises(TeamError):
        eve.call("list", {})


def pushing_as(server: Server, project: str) -> None:
    one = {
        "session": "x", "project": project, "parent": "", "ended": 1, "is_superseded": False,
        "turns": 0, "kind": 0, "source": "codex", "path": "/x", "data": "", "documents": [],
    }  # fmt: skip
    server.call("put", {"sessions": [one]})


@pytest.mark.parametrize(
    "statement",
    [
        "create user mapping for eve server cc options (user 'bob')",
        "create function pg_temp.f() returns setof text language plproxy as "
        "$$ connect 'dbname=cc user=bob'; select 1::text; $$",
        "create foreign data wrapper mine",
        "create server cc foreign data wrapper plproxy options (p0 'user=bob')",
        "insert into cc.shard values (0, 'user=bob')",
        "update cc.change set number = 99",
        "select * from cc.shard",
        "create or replace function plproxy.get_cluster_partitions(cluster_name text) "
        "returns setof text language sql as 'select ''user=bob'''",
        "set role bob",
        "set session authorization bob",
    ],
)
def test_nobody_connects_as_somebody_else(eve: Server, statement: str) -> None:
    with pytest.raises(TeamError):
        eve.query(statement)


def test_functions_behind_the_proxy_ask_as_the_caller(team: ShardedTeam, eve: Server) -> None:
    question = json.dumps({"version": VERSION, "filters": {}}).encode()
    for name in ("list_all", "stats_all", "list", "stats"):
        rows = eve.query(f"select cc.{name}($1)::text", [question])
        assert "shop" not in str(rows)
    assert team.projects() == ["shop"]


def test_dead_shard_is_an_error_and_not_half_an_answer(team: ShardedTeam, pushing: Home) -> None:
    last = team.shards[-1].postgres
    last.kill()
    try:
        done = pushing.run("-R", "team", "prompt")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
    finally:
        last.start()
    assert pushing.run("-R", "team", "prompt").returncode == 0


def test_proxy_has_no_turns_of_its_own(team: ShardedTeam) -> None:
    with pytest.raises(UsageError, match="name one of its shards"):
        admin.status(team.admin)
    with pytest.raises(UsageError, match="without user and password"):
        admin.init_proxy(team.admin, ["host=x dbname=cc user=bob"])
