"""What leaves the machine, and what comes back after it was forgotten."""

import json
from pathlib import Path
from typing import Any

import pytest

from ccgrep.ops import team as ops
from ccgrep.team import admin, history
from ccgrep.team.push import TeamPush
from ccgrep.team.server import VERSION, Server, TeamError
from tests.helpers.canaries import FAMILIES, canary, grams, leaks
from tests.helpers.homes import Home
from tests.helpers.stored import write_session
from tests.helpers.team_server import Team, wheel_postgres
from tests.helpers.transcripts import ClaudeFile

CANARY = "zyxwvutsrq"


def header(**fields: Any) -> dict[str, Any]:
    """Return a session without turns, as `cc.put` takes it."""
    return {
        "session": "x", "project": "shop", "parent": "", "ended": 1, "is_superseded": False,
        "turns": 0, "kind": 1, "source": "codex", "path": "/x", "data": "", "documents": [],
        **fields,
    }  # fmt: skip


def document(**fields: Any) -> dict[str, Any]:
    """Return a turn without texts, as `cc.put` takes it."""
    return {
        "number": 0, "started": 1, "branch": "", "models": [], "tools": [], "partial": [],
        "turn": "11" * 32, "lengths": [0] * 6, "title": "", "titled": "", "said": "x",
        "words": "sx", "folded": "x", "entry": "", "body": "", "keys": [], **fields,
    }  # fmt: skip


def contents(team: Team) -> list[tuple[bytes, ...]]:
    columns = "owner, session, number, turn, started, said, words, lengths, partial, entry, body"
    rows = team.admin.query(f"select {columns} from cc.document order by session, number")
    return [tuple(row) for row in rows]


def test_nothing_is_pushed_without_a_project(team: Team, home: Home) -> None:
    team.grant("bob", "*")
    write_session(home, 1)
    home.index()
    added = home.run("remote", "add", "team", team.url("bob"))
    assert "nothing will be pushed" in added.stdout
    assert home.run("push", "team").stdout == "team: pushed nothing new\n"
    assert contents(team) == []


def test_dry_run_writes_nothing_and_says_what_a_push_would(team: Team, pushing: Home) -> None:
    done = pushing.run("push", "team", "--dry-run")
    assert done.stdout.startswith("team: would push shop: 6 turns of 2 sessions (")
    assert contents(team) == []
    assert pushing.run("push", "team").stdout == done.stdout.replace("would push", "pushed")
    assert len(contents(team)) == 6


def test_only_named_projects_leave_the_machine(team: Team, home: Home) -> None:
    team.grant("bob", "*")
    write_session(home, 1, cwd="/src/acme-web")
    write_session(home, 2, cwd="/src/diary")
    home.index()
    home.run("remote", "add", "team", team.url("bob"), "-p", "acme-*")
    home.run("push", "team")
    assert [row[0] for row in team.admin.query("select name from cc.project")] == [b"acme-web"]


def test_second_push_sends_nothing_and_a_third_only_what_changed(
    team: Team, pushing: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushing.run("push", "team")
    before = contents(team)
    sent: list[int] = []
    start = Server.start

    def count(self: Server, function: str, question: dict[str, Any]) -> None:
        sessions = question.get("sessions", [])
        assert isinstance(sessions, list)
        sent.append(sum(len(one["documents"]) for one in sessions))
        start(self, function, question)

    monkeypatch.setattr(Server, "start", count)
    ops.push(pushing.config, "team", False, 10.0, lambda _done, _all: None)
    assert sent == []
    file = write_session(pushing, 1)
    file.turn("one more", "answer")
    file.append()
    pushing.index()
    ops.push(pushing.config, "team", False, 10.0, lambda _done, _all: None)
    assert sent == [1]
    assert len(contents(team)) == len(before) + 1


def test_lost_state_pushes_again_and_changes_nothing(team: Team, pushing: Home) -> None:
    pushing.run("push", "team")
    before = team.admin.query("select session, number, xmin from cc.document order by 1, 2")
    (pushing.store_dir / "remotes" / "team" / "pushed").unlink()
    pushing.run("push", "team")
    after = team.admin.query("select session, number, xmin from cc.document order by 1, 2")
    assert after == before


def test_interrupted_push_continues(
    team: Team, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob = team.grant("bob", "*")
    for seed in range(1, 9):
        write_session(home, seed, turns=5)
    home.index()
    whole = team.postgres.make_team()
    push(home, whole.grant("bob", "*"))
    monkeypatch.setattr("ccgrep.team.push.BATCH_TURNS", 7)
    batches = 0

    def interrupt(_done: int, _all: int) -> None:
        nonlocal batches
        batches += 1
        if batches in (11, 30):
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            TeamPush(home.store, bob, "/nonexistent", lambda _: None, interrupt).run(("*",))
        assert contents(team) != contents(whole)
    push(home, bob)
    assert contents(team) == contents(whole)


def test_batch_is_stored_in_the_order_of_the_partitions(team: Team) -> None:
    """Otherwise two pushes at the same time may wait for each other in pg_textsearch 1.0."""
    sessions = [header(session=f"s{number}") for number in range(30)]
    bob = team.grant("bob", "*")
    home_sessions = [{**one, "turns": 1, "documents": [document()]} for one in sessions]
    bob.call("put", {"sessions": home_sessions})
    rows = team.admin.query("select tableoid::regclass from cc.document order by id")
    tables = [row[0] for row in rows]
    assert len(set(tables)) == 4
    assert tables == sorted(tables)


def test_call_after_an_abandoned_one_has_its_own_answer(team: Team) -> None:
    bob = team.grant("bob", "*")
    bob.start("put", {"sessions": [header()]})
    assert bob.call("stats", {"filters": {}})[0]["turns"] == 0


def push(home: Home, server: Server) -> None:
    TeamPush(home.store, server, "/nonexistent", lambda _: None).run(("*",))


def push_rewritten(home: Home, server: Server) -> ClaudeFile:
    """Push a session, rewrite its second half, and push it again."""
    file = write_session(home, 1, turns=6)
    home.index()
    push(home, server)
    del file.records[len(file.records) // 2 :]
    file.turn("another way", "answer")
    file.write()
    home.index()
    push(home, server)
    return file


def test_rewritten_and_shortened_sessions_follow(team: Team, home: Home) -> None:
    bob = team.grant("bob", "*")
    push_rewritten(home, bob)
    whole = team.postgres.make_team()
    push(home, whole.grant("bob", "*"))
    assert contents(team) == contents(whole)


def test_no_secret_and_no_id_of_a_turn_with_one_leaves_the_machine(team: Team, home: Home) -> None:
    canaries = [canary(family, 28) for family in FAMILIES]
    file = home.claude(1)
    for number, secret in enumerate(canaries):
        file.prompt(f"{number} {secret.text}")
        call = file.call("Bash", {"command": secret.text, "nested": [{"text": secret.text}]})
        file.result(call, secret.text)
        file.answer(secret.text)
    file.write()
    home.index()
    done = home.run("remote", "add", "team", team.url("bob"), "-p", "*")
    team.grant("bob", "*")
    home.run("remote", "add", "team", team.url("bob"), "-p", "*")
    report = json.loads(home.run("push", "team", "--json", "--no-refresh").stdout)["teams"][0]
    assert report["projects"]["shop"]["redactions"] >= len(canaries), done.stderr
    assert leaks(grams(canaries), dump_everything(team)) == []
    ids = {
        entry.turn.hex() for row in home.store.rows() for entry in home.store.manifest(row).entries
    }
    pushed = {
        row[0].decode() for row in team.admin.query("select encode(turn, 'hex') from cc.document")
    }
    assert not ids & pushed


def dump_everything(team: Team) -> str:
    """Return all that the server stores, with the bodies decoded."""
    bob = team.connect("bob")
    texts = [str(bob.call("list", {}))]
    for (name,) in team.admin.query("select session from cc.session"):
        conversation = history.read_conversation(bob, name.decode())
        texts.append(repr(conversation))
    for (row,) in team.admin.query("select document::text from cc.document"):
        texts.append(row.decode())
    return "\n".join(texts)


def test_forgotten_session_is_gone_at_once_and_refused_later(team: Team, pushing: Home) -> None:
    pushing.run("push", "team")
    id = pushing.run("-R", "team", "-F", "answer 1 1", "--full-id").stdout.partition(":")[0]
    assert pushing.run("forget", "-R", "team", id).stdout == "1 session forgotten on team\n"
    assert pushing.run("-R", "team", "-F", "answer 1 1").returncode == 1
    (pushing.store_dir / "remotes" / "team" / "pushed").unlink()
    done = pushing.run("push", "team")
    assert done.returncode == 1
    assert done.stderr == "ccgrep: team has forgotten 1 session and refuses them\n"
    assert pushing.run("-R", "team", "-F", "answer 1 1").returncode == 1
    assert pushing.run("-R", "team", "-F", "answer 2 1").returncode == 0


def test_session_that_is_forgotten_here_is_forgotten_by_the_next_push(
    team: Team, pushing: Home
) -> None:
    pushing.run("push", "team")
    id = pushing.run("-F", "answer 1 1", "--full-id").stdout.partition(":")[0]
    pushing.run("forget", id)
    assert "team: 1 session forgotten\n" in pushing.run("push", "team").stdout
    assert {row[1].decode() for row in contents(team)}.isdisjoint({id})


def test_what_belongs_to_a_forgotten_session_goes_and_stays_away(team: Team, home: Home) -> None:
    bob = team.grant("bob", "*")
    file = push_rewritten(home, bob)
    versions = {row[1].decode() for row in contents(team)}
    assert versions == {file.id, f"{file.id}~2"}
    (gone,) = bob.call("forget", {"sessions": [file.id]})
    assert set(gone["sessions"]) == versions
    assert contents(team) == []
    one = header(session="later", parent=file.id)
    for fields in (
        {},
        {"session": "later still", "parent": "later"},
        {"session": f"{file.id}~3", "parent": "", "is_superseded": True},
    ):
        (done,) = bob.call("put", {"sessions": [{**one, **fields}]})
        assert len(done["refused"]) == 1
    (done,) = bob.call("put", {"sessions": [{**one, "session": "other", "parent": ""}]})
    assert done["refused"] == []


def test_purge_leaves_no_byte_and_says_so_if_it_does(team: Team, home: Home) -> None:
    bob = team.grant("bob", "*")
    file = home.claude(1)
    for number in range(9):
        file.turn(f"{CANARY} {number % 2}", f"{CANARY} answer")
    file.write()
    home.index()
    push(home, bob)
    team.admin.query("analyze")
    assert CANARY in database_bytes(team)
    reader = team.postgres.admin(team.name)
    reader.run_script("begin isolation level repeatable read; select from cc.meta")
    bob.call("forget", {"sessions": [file.id]})
    with pytest.raises(TeamError, match=r"end those of postgres \(process \d+\) and purge again"):
        admin.purge(team.admin)
    assert admin.status(team.admin).unpurged == 1
    reader.run_script("rollback")
    admin.purge(team.admin)
    assert admin.status(team.admin).unpurged == 0
    assert CANARY not in database_bytes(team)


def test_purge_waits_a_limited_time_for_a_reader(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin, "_LOCK_TIMEOUT", "10ms")
    eve = team.grant("eve", "evil")
    eve.run_script("begin")
    eve.call("list", {})
    with pytest.raises(TeamError, match=r"a table is in use: .* eve \(process"):
        admin.purge(team.admin)
    eve.close()


DOWNGRADES = {
    2: "drop function cc.partition_of; update cc.meta set version = 2;",
    1: "alter table cc.document drop constraint well_formed;"
    "alter table cc.session drop column pushed;"
    "alter table cc.forgotten drop column transaction;"
    "alter table cc.meta drop column horizon;"
    "drop index cc.document_turn;"
    "update cc.meta set version = 1",
}


@pytest.mark.parametrize("version", DOWNGRADES)
def test_older_schema_is_migrated_and_a_newer_one_is_refused(
    team: Team, pushing: Home, version: int
) -> None:
    pushing.run("push", "team")
    shape = schema_shape(team)
    for number, script in DOWNGRADES.items():
        if number >= version:
            team.admin.run_script(script)
    place = team.url("postgres")
    assert f"version {version} of the schema" in pushing.run("-R", "team", "prompt").stderr
    assert pushing.run("team", "init", place).returncode == 0
    assert pushing.json("team", "status", place)["version"] == VERSION
    assert schema_shape(team) == shape
    assert len(pushing.run("-R", "team", "prompt").stdout.splitlines()) == 6
    team.admin.query(f"update cc.meta set version = {VERSION + 1}")
    done = pushing.run("team", "init", place)
    assert done.returncode == 2
    assert f"version {VERSION + 1} of the schema, a newer one: upgrade ccgrep" in done.stderr


def schema_shape(team: Team) -> list[list[bytes]]:
    """Return everything in the schema: columns, indexes, constraints, rights and functions."""
    return team.admin.query(
        "with c as (select oid, relname from pg_class where relnamespace = 'cc'::regnamespace) "
        "select relname, attname, format_type(atttypid, atttypmod) from pg_attribute "
        "join c on attrelid = oid where attnum > 0 and not attisdropped "
        "union all select relname, conname, pg_get_constraintdef(k.oid) from pg_constraint k "
        "join c on conrelid = c.oid "
        "union all select relname, '', coalesce(relacl::text, '') from pg_class "
        "where relnamespace = 'cc'::regnamespace "
        "union all select proname, proacl::text, md5(prosrc) from pg_proc "
        "where pronamespace = 'cc'::regnamespace order by 1, 2, 3"
    )


def test_status_tells_when_forgotten_bytes_are_gone(team: Team, pushing: Home) -> None:
    pushing.run("push", "team")
    id = pushing.run("-R", "team", "-F", "answer 1 1", "--full-id").stdout.partition(":")[0]
    pushing.run("forget", "-R", "team", id)
    place = team.url("postgres")
    assert (
        "1 session forgotten, 1 may have bytes on disk"
        in pushing.run("team", "status", place).stdout
    )
    assert b"answer 1 1" in table_bytes(team)
    assert pushing.run("team", "purge", place).returncode == 0
    assert b"answer 1 1" not in table_bytes(team)
    assert pushing.json("team", "status", place)["unpurged"] == 0
    assert "answer 2 1" in pushing.run("-R", "team", "-F", "answer 2 1").stdout


def test_server_is_made_and_shared_with_commands(home: Home) -> None:
    postgres = wheel_postgres()
    server = postgres.admin("postgres")
    server.query("drop database if exists made")
    server.query("create database made")
    place = postgres.url("postgres", "made")
    done = home.run("team", "init", place, "--partitions", "2")
    assert done.stdout.splitlines() == [
        f"{place} is a team's server",
        "without pg_trgm: -F and -E compare only the newest 20,000 turns",
    ]
    assert home.run("team", "init", place, "--partitions", "2").stdout == done.stdout
    granted = home.run("team", "grant", place, "bob", "-p", "acme-*", "--read-only")
    assert granted.stdout == "bob may search acme-*\n"
    assert "bob\tacme-*\tread only\n" in home.run("team", "status", place).stdout
    assert home.json("team", "status", place)["partitions"] == 2
    assert home.run("team", "revoke", place, "bob").stdout == "1 right of bob revoked\n"
    assert home.run("team", "init", place, "--partitions", "0").returncode == 2
    server.query("drop database made with (force)")


def test_sessions_are_listed_and_shown_as_from_a_store(pushing: Home) -> None:
    pushing.run("push", "team")
    rows = [line.split("\t") for line in pushing.run("list", "-R", "team").stdout.splitlines()]
    own = [line.split("\t") for line in pushing.run("list").stdout.splitlines()]
    assert [row[:5] for row in rows] == own
    assert [row[5] for row in rows] == ["bob", "bob"]
    assert pushing.run("list", "-R", "team", "--owner", "eve").stdout == ""
    for ref in (own[0][0], f"{own[0][0]}:1", own[1][0][:4]):
        shown = pushing.run("show", "-R", "team", ref).stdout
        assert shown.replace("Machine: bob\n", "") == pushing.run("show", ref).stdout
    assert pushing.run("show", "-R", "team", "ffffffff").returncode == 2


def database_bytes(team: Team) -> str:
    """Return all files of the database. The log of changes is not among them."""
    team.admin.query("checkpoint")
    ((oid,),) = team.admin.query("select oid from pg_database where datname = current_database()")
    files = (team.postgres.data_dir / "base" / oid.decode()).iterdir()
    return "".join(file.read_bytes().decode("latin-1") for file in files)


def table_bytes(team: Team) -> bytes:
    """Return the files of the tables with turns."""
    paths = team.admin.query(
        "select pg_relation_filepath(relid) from pg_partition_tree('cc.document') where isleaf"
    )
    team.admin.query("checkpoint")
    files = [Path(team.postgres.data_dir) / row[0].decode() for row in paths]
    return b"".join(file.read_bytes() for file in files)
