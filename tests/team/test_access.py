"""A member of another project tries to read, guess, forget and flood what is not theirs."""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from ccgrep.fulltext.reader import TextReader
from ccgrep.search.request import Request
from ccgrep.team import admin
from ccgrep.team.address import parse_address
from ccgrep.team.lexemes import split_words
from ccgrep.team.push import TeamPush
from ccgrep.team.question import words_question
from ccgrep.team.server import VERSION, Server, TeamError
from tests.helpers.homes import Home
from tests.helpers.team_server import Team, wheel_postgres

SECRET = "zyxwvut"  # in each of bob's texts, and nowhere else
VICTIM = "11111111-2222-3333-4444-555555555555"


class Stage(NamedTuple):
    """A server on which bob has a project and eve has another one."""

    team: Team
    bob: Server
    eve: Server
    turn: str  # the id of a turn of bob
    session: str


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    team = wheel_postgres().make_team()
    bob, eve = team.grant("bob", f"{SECRET}-*"), team.grant("eve", "evil")
    sessions = []
    for server, name in ((bob, f"{SECRET}-web"), (eve, "evil")):
        home = Home(tmp_path_factory.mktemp("home") / name)
        file = home.claude(len(name), cwd=f"/src/{name}")
        word = name.partition("-")[0]
        for number in range(5):
            file.prompt(f"{number} {word} prompt plum", gitBranch=f"{word}-branch")
            file.result(file.call(f"{word}Tool", {"command": f"{word} input"}), f"{word} output")
            file.answer(f"{word} answer")
        file.write()
        home.index()
        TeamPush(home.store, server, "/nonexistent", lambda _: None).run(("*",))
        sessions.append(file.id)
    ((turn,),) = team.admin.query(
        "select encode(turn, 'hex') from cc.document where owner = 'bob' and number = 1"
    )
    team.admin.query(
        "insert into cc.passage select session, number, owner, id, project, 'model', 3, 0, 1, 0, "
        "1, '[1,0,0]'::cc_extension.vector::cc_extension.halfvec from cc.document "
        "where owner = 'bob'"
    )
    yield Stage(team, bob, eve, turn.decode(), sessions[0])
    bob.close()
    eve.close()


def ask(words: str, **filters: Any) -> dict[str, Any]:
    """Return the question for words, with any filters."""
    request = Request((words,))
    question = words_question(request, split_words(TextReader.analyzers(), (words,)), ())
    return {**question, "filters": {**question["filters"], **filters}}


def ask_near(words: str, **filters: Any) -> dict[str, Any]:
    """Return the question for vectors that are like one of bob's, and for words."""
    model = {"model": "model", "dimensions": 3, "queries": ["[1,0,0]"]}
    return {**ask(words, **filters), "models": [model], "surfaces": [0, 1, 2, 3]}


def session(stage: Stage, **fields: Any) -> dict[str, Any]:
    """Return a session of eve as `cc.put` takes it."""
    rows = stage.eve.call("list", {})
    return {
        "session": "e-session", "project": "evil", "parent": "", "ended": 1, "is_superseded": False,
        "turns": 0, "kind": 0, "source": "codex", "path": "/x", "data": rows[0]["data"],
        "documents": [], **fields,
    }  # fmt: skip


Attack = Callable[[Stage], list[Any]]
CALLS: dict[str, Attack] = {
    "search for a word": lambda s: s.eve.call("search", ask(SECRET)),
    "search for a word that both have": lambda s: s.eve.call("search", ask("plum")),
    "search for a word of bob as its owner": lambda s: s.eve.call(
        "search", ask("plum", owners=["bob"])
    ),
    "search below bob's path": lambda s: s.eve.call("search", ask("plum", projects=["src"])),
    "search in bob's session": lambda s: s.eve.call("search", ask("plum", sessions=[s.session])),
    "search with all texts": lambda s: s.eve.call("search", {**ask("plum"), "texts": 10**6}),
    "search without limit": lambda s: s.eve.call("search", {**ask("plum"), "most": 10**9}),
    "search for sessions": lambda s: s.eve.call("search", ask("plum", max_sessions=10**6)),
    "grep": lambda s: s.eve.call("grep", {"most": 99, "discussion": SECRET, "partial": []}),
    "grep everything": lambda s: s.eve.call("grep", {"most": 10**6, "is_scan": True}),
    "grep for nothing": lambda s: s.eve.call("grep", {"most": 99, "discussion": "", "partial": []}),
    "grep a tool": lambda s: s.eve.call(
        "grep", {"most": 99, "words": f"'o{SECRET}'", "partial": ["tool"]}
    ),
    "get by id": lambda s: s.eve.call("get", {"session": s.session}),
    "get by prefix": lambda s: s.eve.call("get", {"session": s.session[:8]}),
    "get by one letter": lambda s: s.eve.call("get", {"session": s.session[:1]}),
    "get by turn": lambda s: s.eve.call("get", {"turn": s.turn}),
    "get by any turn": lambda s: s.eve.call("get", {"turn": ""}),
    "list": lambda s: s.eve.call("list", {}),
    "list bob's": lambda s: s.eve.call("list", {"filters": {"owners": ["bob"]}}),
    "search by meaning": lambda s: s.eve.call("near", ask_near("plum")),
    "search by the meaning of bob's words": lambda s: s.eve.call("near", ask_near(SECRET)),
    "search for bob's by meaning": lambda s: s.eve.call("near", ask_near("x", owners=["bob"])),
    "count": lambda s: s.eve.call("stats", {"filters": {}}),
    "count bob's": lambda s: s.eve.call("stats", {"filters": {"owners": ["bob"]}}),
    "ids like bob's": lambda s: s.eve.call("similar", {"prefixes": [s.session[:8], ""]}),
    "list ids": lambda s: s.eve.call("list", {"ids_only": True, "limit": 10**6}),
}
"""Calls that are allowed, and must show nothing of bob."""

QUOTES = ("x' or true --", "'; select 1; --", "\\'", "$$", "%", "_", "{a,b}", '"', "x'))) or ((('1")
INJECTIONS = ("owners", "projects", "sources", "sessions", "except", "branches", "models", "tools")
REFUSED: dict[str, str] = {
    **{
        f"read cc.{name}": f"select * from cc.{name}"
        for name in (
            "document",
            "document_0",
            "passage",
            "session",
            "project",
            "member",
            "forgotten",
            "meta",
        )
    },
    "describe": "select cc.describe('{1,2,3}', '{}', '{}', 1, '{}', 9, '{}')",
    "compare": "select cc.compare('{1,2,3}', '[]')",
    "nearest": "select cc.nearest('[]', '{}', '{1}', 'true', 9)",
    "find": f"select cc.find('{{\"version\":{VERSION}}}')",
    "similar ids": "select cc.similar_ids('{1,2,3}', '{1}')",
    "conditions": "select cc.conditions('{}')",
    "enter": f"select cc.enter('{{\"version\":{VERSION}}}')",
    "become the owner": "set role cc_owner",
    "become bob": "set session authorization bob",
    "become bob by role": "set role bob",
    "make a function": "create function cc.f(jsonb) returns int[] language sql as 'select null'",
    "make a member": "insert into cc.member values ('eve', '%', true)",
    "use the sequence": "select last_value from cc.document_id_seq",
    "read the index": "select cc_extension.bm25_spill_index('cc.document_said')",
    "copy out": "copy cc.document to stdout",
    "explain": "explain analyze select * from cc.document",
    "make a table": "create table cc.document2 (x int)",
    "raise a limit": "alter role eve superuser",
    "lock rows": "select from cc.member for update",
    "lock a table": "lock table cc.document in access exclusive mode",
    "watch a table": "create trigger t after insert on cc.document execute function cc.has()",
    "follow a table": "create publication p for table cc.document",
    "stand in for a table": "create table cc.meta (version int)",
    "stand in for an operator": "create operator cc.= (leftarg = name, rightarg = name, "
    "function = nameeq)",
    "copy in": "copy cc.member from program 'echo eve'",
    "run a program": "copy (select 1) to program 'sh'",
    "read a file": "select pg_read_file('postgresql.conf')",
    "list files": "select pg_ls_dir('base')",
    "import a file": "select lo_import('/etc/passwd')",
    "export a file": "select lo_export(1, '/tmp/x')",
    "read large objects": "select * from pg_largeobject",
    "read statistics": "select * from pg_statistic",
    "read passwords": "select * from pg_authid",
    "make an extension": "create extension dblink",
    "make a language": "create language plproxy",
    "load a library": "load 'auto_explain'",
    "log statements": "set log_statement = 'all'",
    "use the schema of the extensions": "select cc_extension.vector_dims('[1]')",
    "write a statistic": "create statistics cc.s on session, owner from cc.document",
    "let somebody in": "grant cc_member to mallory",
    "grant by hand": "grant select on cc.document to eve",
    "replace a function": "create or replace function cc.enter(q jsonb) returns int[] "
    "language sql as 'select null'",
    "change a function": "alter function cc.search(jsonb) security invoker",
    "reset a function": "alter function cc.search(jsonb) reset all",
}


def assert_unseen(text: str) -> None:
    assert SECRET not in text.lower()


@pytest.mark.parametrize("name", CALLS)
def test_calls_show_nothing_of_another_project(stage: Stage, name: str) -> None:
    rows = CALLS[name](stage)
    assert_unseen(json.dumps(rows))
    assert stage.session not in json.dumps(rows)
    if rows and "documents" in rows[0]:
        assert rows[0]["documents"] == 5
        assert max(rows[0]["counts"]) <= 5
        assert all(texts == 0 for texts, _, _ in rows[0]["background"])


@pytest.mark.parametrize("field", INJECTIONS)
def test_filters_are_values_and_never_sql(stage: Stage, field: str) -> None:
    for text in QUOTES:
        for row in stage.eve.call("search", ask("plum", **{field: [text]}))[1:]:
            assert row["owner"] == "eve"
        for row in stage.eve.call("list", {"filters": {field: [text]}}):
            assert row["owner"] == "eve"


@pytest.mark.parametrize("field", ["since", "until", "max_sessions", "here"])
def test_single_filters_are_values_and_never_sql(stage: Stage, field: str) -> None:
    for text in QUOTES:
        try:
            rows = stage.eve.call("search", ask("plum", **{field: text}))
        except TeamError as error:
            assert_unseen(str(error))
        else:
            assert {row["owner"] for row in rows[1:]} <= {"eve"}


def test_plans_and_queries_are_values_and_never_sql(stage: Stage) -> None:
    for text in QUOTES:
        for question in (
            {"most": 99, "partial": [text], "discussion": {"kind": "any", "parts": [text, text]}},
            {"most": 99, "partial": [], "words": text},
        ):
            try:
                rows = stage.eve.call("grep", question)
            except TeamError as error:
                assert_unseen(str(error))
            else:
                assert {row["owner"] for row in rows[1:]} <= {"eve"}


@pytest.mark.parametrize("name", REFUSED)
def test_server_refuses_everything_but_the_functions(stage: Stage, name: str) -> None:
    with pytest.raises(TeamError) as caught:
        stage.eve.query(REFUSED[name])
    assert_unseen(str(caught.value))


def test_statistics_of_the_database_show_no_words(stage: Stage) -> None:
    stage.team.admin.query("analyze cc.document")
    for view in ("pg_stats", "pg_stat_activity", "pg_stats_ext"):
        assert_unseen(str(stage.eve.query(f"select t::text from {view} t")))


def test_every_function_fixes_its_settings_and_few_are_callable(stage: Stage) -> None:
    functions = stage.team.admin.query(
        "select proname, prosecdef, array_to_string(proconfig, ' '), proowner::regrole, "
        "has_function_privilege('eve', oid, 'execute'), "
        "has_function_privilege('mallory', oid, 'execute') "
        "from pg_proc where pronamespace = 'cc'::regnamespace"
    )
    callable_by_eve = set()
    for name, is_definer, settings, owner, is_for_eve, is_for_mallory in functions:
        assert b"search_path=pg_catalog, cc, cc_extension, pg_temp" in settings, name
        assert b"client_min_messages=warning" in settings, name
        assert (owner, is_for_mallory) == (b"cc_owner", b"f"), name
        assert is_definer == is_for_eve, name
        if is_for_eve == b"t":
            callable_by_eve.add(name.decode())
    assert callable_by_eve == {
        "put", "search", "grep", "near", "get", "list", "similar", "stats", "forget",
    }  # fmt: skip


def test_plans_of_the_functions_are_not_shown(
    stage: Stage, capfd: pytest.CaptureFixture[str]
) -> None:
    """Their estimates come from statistics of all projects."""
    stage.eve.query("set client_min_messages = log")
    stage.eve.query("set debug_print_plan = on")
    for attack in CALLS.values():
        attack(stage)
    stage.eve.query("discard all")
    shown = capfd.readouterr().err
    assert "PLANNEDSTMT" in shown
    assert "SCAN" not in shown


def test_nobody_can_hold_up_the_pushes_of_others(stage: Stage) -> None:
    stage.eve.query("select pg_advisory_lock(hashtextextended('bob', 28))")
    bob = Server(parse_address(stage.team.url("bob")), 20.0)
    bob.call("put", {"sessions": []})
    bob.call("forget", {"sessions": []})
    bob.close()
    stage.eve.query("select pg_advisory_unlock_all()")


def test_functions_see_whether_a_connection_is_encrypted(stage: Stage) -> None:
    """PostgreSQL hides that from everybody but the connection's own role."""
    stage.team.admin.run_script(
        "create function cc.is_encrypted() returns boolean language sql security definer as "
        "'select ssl from pg_stat_ssl where pid = pg_backend_pid()';"
        "alter function cc.is_encrypted() owner to cc_owner"
    )
    assert stage.eve.query("select cc.is_encrypted()") == [[b"f"]]
    stage.team.admin.query("drop function cc.is_encrypted()")


def test_stranger_cannot_even_measure_a_search(stage: Stage) -> None:
    stage.team.admin.query("grant cc_member to mallory")
    mallory = stage.team.connect("mallory")
    with pytest.raises(TeamError, match="you have no project"):
        mallory.call("search", ask(SECRET))
    mallory.close()
    stage.team.admin.query("revoke cc_member from mallory")


def test_vector_has_as_many_numbers_as_the_server_counts(stage: Stage) -> None:
    """One that claims to have others would make every comparison with it fail."""
    passage = ("model", 100, 0, 1, 0, 1, "[1,0,0]")
    (own,) = stage.eve.call("search", ask("evil 0"))[1:2]
    documents = [{"number": own["number"], "vectors": [passage], "keys": [1, 1, 1, 1]}]
    documents[0] |= {"branch": "", "models": [], "tools": [], "partial": [], "turn": "11" * 32}
    documents[0] |= {"lengths": [1] * 6, "title": "", "titled": "", "said": "x", "words": "sx"}
    documents[0] |= {"folded": "x", "entry": "", "body": "", "started": 2**62}
    stage.eve.call("put", {"sessions": [session(stage, turns=9, documents=documents)]})
    query = "select dimensions from cc.passage where owner = 'eve'"
    assert stage.team.admin.query(query) == [[b"3"]]
    assert stage.eve.call("stats", {"filters": {}})[0]["turns"] == 6
    stage.eve.call("put", {"sessions": [session(stage)]})


def test_own_tables_and_functions_are_never_called_instead(stage: Stage) -> None:
    before = stage.bob.call("list", {})
    for statement in (
        "create temp table member (role name, pattern text, can_push boolean)",
        "insert into member values ('eve', '%', true)",
        "create temp table project (id int, name text)",
        "create function pg_temp.like(text, text) returns boolean language sql as 'select true'",
        "create function pg_temp.strpos(text, text) returns int language sql as 'select 1'",
        "set search_path = pg_temp, cc",
    ):
        stage.eve.query(statement)
    for attack in CALLS.values():
        assert_unseen(json.dumps(attack(stage)))
    stage.eve.query("discard all")
    assert stage.bob.call("list", {}) == before


def test_pushing_to_another_project_is_refused_as_to_one_that_does_not_exist(stage: Stage) -> None:
    messages = []
    for name in (f"{SECRET}-web", "nobody-has-this"):
        with pytest.raises(TeamError) as caught:
            stage.eve.call("put", {"sessions": [session(stage, project=name)]})
        messages.append(str(caught.value).replace(name, "NAME"))
    assert messages[0] == messages[1]


def test_session_of_the_same_id_changes_and_hides_nothing(stage: Stage) -> None:
    before = stage.bob.call("get", {"session": stage.session})
    stage.eve.call("put", {"sessions": [session(stage, session=stage.session)]})
    assert stage.bob.call("get", {"session": stage.session}) == before
    assert stage.bob.call("search", ask(SECRET))[0]["documents"] == 5
    stage.eve.call("forget", {"sessions": [stage.session]})
    assert stage.bob.call("get", {"session": stage.session}) == before


def test_forgetting_as_a_child_of_another_session_deletes_only_ones_own(stage: Stage) -> None:
    before = stage.bob.call("list", {})
    stage.eve.call("put", {"sessions": [session(stage, session="child", parent=stage.session)]})
    stage.eve.call("forget", {"sessions": [stage.session, "child", *stage.session]})
    assert stage.bob.call("list", {}) == before


def test_bob_can_still_push_a_session_that_eve_forgot(stage: Stage) -> None:
    stage.eve.call("forget", {"sessions": [VICTIM]})
    one = session(stage, session=VICTIM, project=f"{SECRET}-new")
    assert stage.bob.call("put", {"sessions": [one]})[0]["refused"] == []
    stage.bob.call("forget", {"sessions": [VICTIM]})


def test_flood_of_another_member_changes_no_score(stage: Stage) -> None:
    before = stage.bob.call("search", ask(f"plum {SECRET}"))
    sessions = [session(stage, session=f"flood-{number}") for number in range(300)]
    stage.eve.call("put", {"sessions": sessions})
    assert stage.bob.call("search", ask(f"plum {SECRET}")) == before


def test_existing_and_invented_ids_cost_the_same(stage: Stage) -> None:
    """The lookup of a session uses an index that begins with the project.

    So an id of another project is never compared, and its lookup reads the same pages.
    """
    plan = (
        "explain (analyze, buffers, costs off, timing off, summary off) select from cc.session s "
        "where s.project = any (array(select id from cc.project where name = 'evil')) "
        "and starts_with(s.session, '{0}') and left(s.session, 8) = left('{0}', 8)"
    )
    stage.team.admin.run_script("set enable_seqscan = off")
    invented = stage.session.translate(str.maketrans("0123456789abcdef", "f0123456789abcde"))
    plans = []
    for id in (stage.session, invented):
        rows = stage.team.admin.query(plan.format(id))
        rows = stage.team.admin.query(plan.format(id))
        plans.append(b"\n".join(row[0] for row in rows).replace(id.encode(), b"ID"))
    stage.team.admin.run_script("reset enable_seqscan")
    assert b"Index Cond" in plans[0]
    assert plans[0].replace(stage.session[:8].encode(), b"") == plans[1].replace(
        invented[:8].encode(), b""
    )
    assert stage.eve.call("get", {"session": stage.session}) == []
    assert stage.eve.call("get", {"session": invented}) == []


def test_revoked_member_sees_nothing(stage: Stage) -> None:
    carol = stage.team.grant("alice", f"{SECRET}-*", can_push=False)
    assert carol.call("list", {}) != []
    with pytest.raises(TeamError, match="may not push"):
        carol.call("put", {"sessions": [session(stage, project=f"{SECRET}-web")]})
    admin.revoke(stage.team.admin, "alice", [])
    with pytest.raises(TeamError):
        carol.call("list", {})
    with pytest.raises(TeamError, match="ccgrep team grant"):
        carol.call("list", {})


def test_revoked_member_loses_what_an_open_transaction_could_still_read(stage: Stage) -> None:
    carol = stage.team.grant("alice", f"{SECRET}-*", can_push=False)
    carol.run_script("begin isolation level repeatable read")
    assert carol.call("list", {}) != []
    admin.revoke(stage.team.admin, "alice", [])
    with pytest.raises(TeamError, match=r"server closed the connection|terminating connection"):
        carol.call("list", {})


def test_extension_in_a_schema_of_others_is_refused() -> None:
    postgres = wheel_postgres()
    server = postgres.admin("postgres")
    server.query("drop database if exists shared with (force)")
    server.query("create database shared")
    shared = postgres.admin("shared")
    shared.query("create extension vector schema public")
    with pytest.raises(TeamError, match="the extension vector is not in the schema cc_extension"):
        admin.init(shared, 2)
    shared.close()
    server.query("drop database shared with (force)")


def test_there_are_at_least_forty_attacks() -> None:
    assert len(CALLS) + len(REFUSED) + len(INJECTIONS) >= 40
