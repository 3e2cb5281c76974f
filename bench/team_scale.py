"""Measures a team's server with millions of turns, which the server itself makes up.

`python bench/team.py --made-up` runs it. A turn has 40 words of discussion and 60 of tool output,
as frequent as in natural language, put together from texts of 20 words. The indexes are built when
all turns are there. The servers run without fsync, and the turns are not in the write-ahead log.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from bench import measure
from bench.budget import print_memory, print_row
from ccgrep.fulltext.reader import TextReader
from ccgrep.search.request import Request
from ccgrep.team import admin
from ccgrep.team.lexemes import split_words
from ccgrep.team.push import TeamPush
from ccgrep.team.question import words_question
from ccgrep.team.server import Server
from tests.helpers.homes import Home
from tests.helpers.team_server import Postgres, ShardedTeam, Team, debian_postgres, wheel_postgres

_SETTINGS = """
shared_buffers = {megabytes}MB
maintenance_work_mem = 1GB
max_parallel_maintenance_workers = 2
wal_level = minimal
max_wal_senders = 0
max_wal_size = 4GB
# shard {number}
"""
_SHARED_MB = 2048
_DATABASE = "ccscale"
_PROJECTS = 20
_TURNS_PER_SESSION = 20
_STEP = 50_000
_TEXTS = 100_000
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
_PREPARE = f"""
create unlogged table part as
    select id, string_agg(word, ' ') as text,
        array_to_tsvector(array_agg(distinct 's' || word)) as said,
        array_to_tsvector(array_agg(distinct 'o' || word)) as output
    from (
        -- Word n is 1/n as frequent as the first.
        select id, translate(floor(exp(random() * 12.2))::int::text, '0123456789', 'bcdfghklmn')
            as word
        from generate_series(1, {_TEXTS}) id, generate_series(1, 20)
    ) made group by id;
alter table part add primary key (id);
analyze part;
create unlogged table template as select data, body, entry
    from cc.document d join cc.session s using (owner, session) limit 1;
insert into cc.project (name) select 'p' || i from generate_series(1, {_PROJECTS}) i;
create function text_of(turn bigint, seed bigint) returns bigint language sql immutable as
    'select 1 + abs(hashint8extended(turn, seed) % {_TEXTS})';
create function make_up(start bigint, past bigint) returns void language sql as $$
    insert into cc.document (owner, session, number, project, parent, kind, started, source, path,
        branch, models, tools, partial, turn, is_sampled, lengths, title, titled, said, words,
        folded, entry, body)
    select 'bob', md5((i / {_TURNS_PER_SESSION})::text), i % {_TURNS_PER_SESSION},
        2 + (i / {_TURNS_PER_SESSION}) % {_PROJECTS}, '', 0, 1600000000000 + i * 1000, 'codex',
        '/src/p', 'main', '{{model}}', '{{bash}}', '{{}}', sha256(i::text::bytea), i % 64 = 0,
        '{{40,0,0,60,0,0}}', '', '', a.text || ' ' || b.text,
        a.said || b.said || c.output || d.output || e.output, a.text || ' ' || b.text, t.entry,
        t.body
    from generate_series(start, past - 1) i
    join part a on a.id = text_of(i, 1) join part b on b.id = text_of(i, 2)
    join part c on c.id = text_of(i, 3) join part d on d.id = text_of(i, 4)
    join part e on e.id = text_of(i, 5), template t
$$;
""".replace("{{", "{").replace("}}", "}")
_DROP_INDEXES = """
do $$ declare name text; begin
    alter table cc.document drop constraint document_pkey;
    for name in
        select indexrelid::regclass from pg_index where indrelid = 'cc.document'::regclass
    loop
        execute 'drop index ' || name;
    end loop;
    for name in select relid::regclass from pg_partition_tree('cc.document') where isleaf loop
        execute format('alter table %s set unlogged', name);
    end loop;
end $$
"""


def measure_made_up(turns: int, vectors: int, jobs: int, partitions: int, shards: int) -> None:
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as scratch:
        home = Home(Path(scratch) / "home")
        file = home.claude(1)
        file.turn("how do we water the plants", "with the can that stands beside the door")
        file.write()
        home.index()
        parts = max(shards, 1)
        servers = [make_server(number, parts, partitions) for number in range(parts)]
        team = put_behind_proxy(servers) if shards else servers[0]
        with timed("made up", servers):
            for number, one in enumerate(servers):
                first, past = (turns * at // parts for at in (number, number + 1))
                load(one, home, range(first, past), jobs)
        with timed("building the indexes", servers):
            for one in servers:
                build_indexes(one, partitions)
        with timed("vacuum and analyze", servers):
            for one in servers:
                admin_script(one, "analyze cc.session")
                admin_script(one, "vacuum analyze cc.document")
        for one in servers if vectors else ():
            add_vectors(one.admin, vectors // parts)
        report_sizes(servers)
        print_row("on disk", f"{sum(map(disk_bytes, servers)) / 1e9:,.1f} GB")
        home.run("remote", "add", "team", team.url("bob"), "-p", "*")
        report_commands(home)
        report_functions(team.connect("bob"), vectors > 0)


def make_server(number: int, parts: int, partitions: int) -> Team:
    """Return an empty server of the wheel."""
    settings = _SETTINGS.format(megabytes=_SHARED_MB // parts, number=number)
    postgres = wheel_postgres(settings)
    make_database(postgres)
    team = Team(postgres, _DATABASE)
    admin.init(team.admin, partitions)
    team.grant("bob", "*").close()
    return team


def make_database(postgres: Postgres) -> None:
    postgres.admin("postgres").query(f"create database {_DATABASE}")


def put_behind_proxy(servers: list[Team]) -> Team:
    proxy = debian_postgres()
    make_database(proxy)
    team = ShardedTeam(proxy, _DATABASE, servers)
    addresses = [f"host={one.postgres.directory} dbname={one.name}" for one in servers]
    admin.init_proxy(team.admin, addresses)
    team.grant("bob", "*").close()
    return team


def load(team: Team, home: Home, turns: range, jobs: int) -> None:
    """Make up some turns of bob, beside one that he pushed."""
    bob = team.connect("bob")
    TeamPush(home.store, bob, "/nonexistent", lambda _: None).run(("*",))
    bob.close()
    admin_script(team, _PREPARE)
    admin_script(
        team,
        f"insert into cc.session select 'bob', md5(i::text), 2 + i % {_PROJECTS}, '', i, false, "
        f"data from template, generate_series({turns.start // _TURNS_PER_SESSION}, "
        f"{turns.stop // _TURNS_PER_SESSION}) i",
    )
    admin_script(team, _DROP_INDEXES)
    steps = turns[::_STEP]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda at: make_up(team, steps[at::jobs], turns.stop), range(jobs)))


def make_up(team: Team, starts: Sequence[int], past: int) -> None:
    server = team.postgres.admin(team.name)
    server.run_script("set enable_hashjoin = off; set enable_mergejoin = off")
    for start in starts:
        server.query(f"select make_up({start}, {min(start + _STEP, past)})")
    server.close()


def build_indexes(team: Team, partitions: int) -> None:
    admin_script(team, "alter table cc.document add primary key (session, number, owner)")
    server = team.postgres.admin(team.name)
    admin.init(server, partitions)
    server.close()


def admin_script(team: Team, script: str) -> None:
    """Run a statement in a connection of its own: its processor time counts when it ends."""
    server = team.postgres.admin(team.name)
    server.run_script(script)
    server.close()


@contextmanager
def timed(label: str, servers: list[Team]) -> Iterator[None]:
    """Print how long a step takes, and how much processor time of the servers."""
    started, used = time.monotonic(), sum(processor_seconds(one.postgres) for one in servers)
    yield
    seconds = time.monotonic() - started
    used = sum(processor_seconds(one.postgres) for one in servers) - used
    print_row(label, f"{seconds:,.0f} s, {used:,.0f} s of CPU")


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


def disk_bytes(team: Team) -> int:
    command = ["du", "-s", "-B1", str(team.postgres.data_dir)]  # Files may vanish meanwhile.
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(done.stdout.split()[0])


def report_sizes(servers: list[Team]) -> None:
    statuses = [admin.status(one.admin) for one in servers]
    turns = sum(one.turns for one in statuses)
    size = sum(one.bytes for one in statuses) / turns
    print_row("on the server", f"{turns:,} turns, {size:,.0f} B each")
    for name, bytes in servers[0].admin.query(
        "select regexp_replace(relname, '[0-9]+_?', ''), sum(pg_table_size(c.oid)) from pg_class c "
        "where relnamespace = 'cc'::regnamespace and relkind in ('r', 'i') group by 1 "
        "order by 2 desc limit 8"
    ):
        print_row(f"  {name.decode()}", f"{int(bytes) / 1e9:.2f} GB")


def report_commands(home: Home) -> None:
    for label, words in _SEARCHES.items():
        runs = [run(home, [*words, "-n", "10", "-R", "team"]) for _ in range(_ROUNDS)]
        seconds = [one.seconds for one in runs]
        print_row(label, f"{statistics.median(seconds):.2f} s, first {seconds[0]:.2f} s")
        print_memory(f"{label}, memory", max((one.peak for one in runs), key=sum), 100)


def report_functions(bob: Server, has_vectors: bool) -> None:
    """Print how long the functions take without starting a command."""
    vector = "[" + ",".join("0.05" for _ in range(_DIMENSIONS)) + "]"
    model = {"model": "model", "dimensions": _DIMENSIONS, "queries": [vector]}
    for text in ("c", "cbb", "cbcbb", "cbb dbb fbb"):
        words = split_words(TextReader.analyzers(), (text,))
        question = words_question(Request((text,)), words, ())
        questions = {"search": question}
        if has_vectors:
            questions["near"] = {**question, "surfaces": [0], "models": [model]}
        for function, asked in questions.items():
            times = []
            for _ in range(_ROUNDS):
                started = time.monotonic()
                bob.call(function, asked)
                times.append(time.monotonic() - started)
            shown = f"{statistics.median(times):.2f} s, first {times[0]:.2f} s"
            print_row(f"cc.{function}: {text}", shown)


def processor_seconds(postgres: Postgres) -> float:
    """Return what the finished connections of a server used, or 0 where /proc does not tell."""
    try:
        postmaster = (postgres.data_dir / "postmaster.pid").read_text().split()[0]
        fields = Path("/proc", postmaster, "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    ticks = int(fields[13]) + int(fields[14])  # of its children that ended
    return ticks / os.sysconf("SC_CLK_TCK")


def run(home: Home, arguments: list[str]) -> measure.Run:
    environment = {**os.environ, **home.environment, "CCGREP_TEAM_TIMEOUT_S": "120"}
    command = [sys.executable, "-m", "ccgrep", *arguments]
    return measure.run(command, environment, codes=(0, 1))
