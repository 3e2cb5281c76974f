"""What the operator of a team's server does: make it, let people in, and see how it is."""

from __future__ import annotations

import os
from typing import Any

from msgspec import Struct, json

from ccgrep.errors import UsageError
from ccgrep.lazy_re import compile_pattern
from ccgrep.team.address import hide_password, parse_address
from ccgrep.team.server import LockedError, Server, TeamError
from ccgrep.text import one_line

_SCHEMA = os.path.join(os.path.dirname(__file__), "schema.sql")
_PROXY = os.path.join(os.path.dirname(__file__), "proxy.sql")
_ROLE = r"[A-Za-z_][A-Za-z0-9_.@-]{0,62}"
_EXTENSIONS = ("pg_textsearch", "pg_trgm", "vector")
_MAX_PARTITIONS = 128
"""pg_textsearch 1.0 locks the index of each, and a transaction may hold 200 such locks."""
_LOCK_TIMEOUT = "5s"
_STATUS = """
select json_build_object(
    'version', m.version, 'partitions', m.partitions,
    'extensions', array(select extname from pg_extension where extname = any ($1::text[])
        and (extname <> 'vector' or to_regclass('cc.passage') is not null)),
    'projects', (select count(*) from cc.project), 'sessions', (select count(*) from cc.session),
    'turns', (select count(*) from cc.document),
    'bytes', (select sum(pg_total_relation_size(oid)) from pg_class
        where relnamespace = 'cc'::regnamespace and relkind = 'r'),
    'members', (select coalesce(json_agg(json_build_object('role', role, 'project', pattern,
        'can_push', can_push) order by role, pattern), '[]') from cc.member),
    'forgotten', (select count(*) from cc.forgotten),
    'purged', extract(epoch from m.purged)::bigint,
    'unpurged', (select count(*) from cc.forgotten where transaction >= coalesce(m.horizon, 0)))
from cc.meta m
"""
# The first transaction whose deleted rows somebody may still read, so that PostgreSQL keeps them.
_HORIZON = """
select least(pg_snapshot_xmin(now)::text::bigint, pg_snapshot_xmax(now)::text::bigint - (
    select coalesce(max(age(held)), 0) from (
        select backend_xmin as held from pg_stat_activity where pid <> pg_backend_pid()
            and (datname = current_database() or datname is null or backend_type = 'walsender')
        union all select transaction from pg_prepared_xacts where database = current_database()
        union all select xmin from pg_replication_slots
    ) h where held is not null))
from pg_current_snapshot() as now
"""
_OPEN_TRANSACTIONS = """
select format('%s (process %s)', usename, pid) from pg_stat_activity
where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()
    and backend_type = 'client backend'
order by xact_start limit 5
"""
_PURGED_TABLES = """
select oid::regclass::text from pg_class where relnamespace = 'cc'::regnamespace
    and relkind = 'r' and (relispartition or relname = 'session')
order by oid
"""
_DELETE_STATISTICS = """
delete from pg_statistic
where starelid in (select oid from pg_class where relnamespace = 'cc'::regnamespace)
"""


class Member(Struct, frozen=True):
    """A person's right to projects that match a pattern."""

    role: str
    project: str
    can_push: bool


class TeamStatus(Struct, frozen=True):
    """The state of a server. Bytes of `unpurged` forgotten sessions may still be there."""

    version: int
    partitions: int
    extensions: list[str]
    projects: int
    sessions: int
    turns: int
    bytes: int
    members: list[Member]
    forgotten: int
    unpurged: int
    purged: int | None = None  # in seconds since 1970

    @property
    def missing_extensions(self) -> list[str]:
        return [name for name in _EXTENSIONS if name not in self.extensions]


def open_admin(url: str) -> Server:
    return Server(parse_address(url), None)


def init(server: Server, partitions: int) -> list[str]:
    """Make or migrate the schema. Return the extensions that the server lacks."""
    if not 1 <= partitions <= _MAX_PARTITIONS:
        raise UsageError(f"invalid number of partitions {partitions}: use 1 to {_MAX_PARTITIONS}")
    with open(_SCHEMA, encoding="utf-8") as file:
        schema = file.read()
    server.run_script(f"begin; set local cc.partitions = {partitions};\n{schema};\ncommit;")
    return status(server).missing_extensions


def init_proxy(server: Server, shards: list[str]) -> None:
    """Make a server pass calls to others with PL/Proxy. Their order must stay the same."""
    for address in shards:
        if compile_pattern(r"\b(user|password)\s*=").search(address) or "=" not in address:
            raise UsageError(
                f"invalid address '{one_line(hide_password(address))}' of a shard: use "
                "'host=HOST dbname=DATABASE', without user and password"
            )
    with open(_PROXY, encoding="utf-8") as file:
        schema = file.read()
    server.run_script(f"begin;\n{schema};\ncommit;")
    rows = json.encode([{"number": at, "address": one} for at, one in enumerate(shards)])
    server.query(
        "with new as (insert into cc.shard select * from jsonb_to_recordset($1::jsonb) "
        "as one (number int, address text) on conflict (number) do update set "
        "address = excluded.address) update cc.change set number = number + 1",
        [rows],
    )


def grant(server: Server, role: str, projects: list[str], can_push: bool) -> bool:
    """Let a person read projects. Return whether the role is new, without a password yet."""
    name = _check_role(role)
    rows = server.query("select from pg_roles where rolname = $1", [role.encode()])
    if not rows:
        server.run_script(f"create role {name} login")
    server.run_script(f"grant cc_member to {name}")
    if _is_proxy(server):
        return not rows
    for project in projects:
        values = [role.encode(), _like(project).encode(), b"true" if can_push else b"false"]
        server.query(
            "insert into cc.member values ($1, $2, $3::boolean) on conflict (role, pattern) "
            "do update set can_push = excluded.can_push",
            values,
        )
    return not rows


def revoke(server: Server, role: str, projects: list[str]) -> int:
    """Take rights back, all of them if no project is named. Return how many there were."""
    name = _check_role(role)
    if _is_proxy(server):
        server.run_script(f"revoke cc_member from {name}")
        return 0
    patterns = json.encode([_like(project) for project in projects])
    rows = server.query(
        "delete from cc.member where role = $1 and (pattern in (select value from "
        "jsonb_array_elements_text($2::jsonb)) or $2::jsonb = '[]') returning 1",
        [role.encode(), patterns],
    )
    left = server.query("select from cc.member where role = $1", [role.encode()])
    known = server.query("select from pg_roles where rolname = $1", [role.encode()])
    if known and not left:
        server.run_script(f"revoke cc_member from {name}")
    # An open transaction would still read what it could read when it began.
    server.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = $1 "
        "and datname = current_database() and pid <> pg_backend_pid()",
        [role.encode()],
    )
    return len(rows)


def status(server: Server) -> TeamStatus:
    _refuse_proxy(server)
    names = "{" + ",".join(_EXTENSIONS) + "}"
    ((data,),) = server.query(_STATUS, [names.encode()])
    fields: dict[str, Any] = json.decode(data)
    fields["members"] = [{**one, "project": _glob(one["project"])} for one in fields["members"]]
    return json.decode(json.encode({**fields, "bytes": fields["bytes"] or 0}), type=TeamStatus)


def purge(server: Server) -> None:
    """Write all tables again, without what was deleted. Searches wait for one at a time.

    Raise an error if an open transaction locks a table, or could still read what was deleted.
    """
    _refuse_proxy(server)
    # Searches wait behind this one while it waits for a lock.
    server.query(f"set lock_timeout = '{_LOCK_TIMEOUT}'")
    ((started, horizon),) = server.query(f"select now()::text, ({_HORIZON})")
    tables = [row[0].decode() for row in server.query(_PURGED_TABLES)]
    try:
        for name in tables:
            server.query(f"vacuum (full) {name}")
        # The planner's statistics have texts, too. Those of an empty table would stay.
        server.query(_DELETE_STATISTICS)
        for name in ("cc.session", "cc.document", "cc.passage"):
            if server.query("select to_regclass($1)", [name.encode()]) != [[b""]]:
                server.query(f"analyze {name}")
        server.query("vacuum (full) pg_catalog.pg_statistic")
    except LockedError:
        raise TeamError(
            f"a table is in use: end the transactions of {_open_transactions(server)} and purge "
            "again"
        ) from None
    server.query(
        "update cc.meta set purged = $1::timestamptz, horizon = $2::bigint", [started, horizon]
    )
    if status(server).unpurged:
        raise TeamError(
            "deleted rows are still on disk, because older transactions may read them: end those "
            f"of {_open_transactions(server)} and purge again"
        )


def _open_transactions(server: Server) -> str:
    names = [row[0].decode() for row in server.query(_OPEN_TRANSACTIONS)]
    return one_line(", ".join(names)) or "replicas and prepared transactions"


def _refuse_proxy(server: Server) -> None:
    if _is_proxy(server):
        raise UsageError("this server has no turns: name one of its shards")


def _is_proxy(server: Server) -> bool:
    """Return whether a server only passes calls on: its shards know who may see what."""
    return server.query("select to_regclass('cc.shard') is not null") == [[b"t"]]


def _check_role(role: str) -> str:
    if not compile_pattern(_ROLE).fullmatch(role):
        raise UsageError(f"invalid name '{one_line(role)}' for a person: use letters and digits")
    return f'"{role}"'


def _like(glob: str) -> str:
    """Return a pattern for LIKE; `*` is the only special character of a project's name."""
    escaped = glob.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return escaped.replace("*", "%")


def _glob(pattern: str) -> str:
    plain = pattern.replace("\\%", "\0").replace("%", "*").replace("\0", "%")
    return plain.replace("\\_", "_").replace("\\\\", "\\")
