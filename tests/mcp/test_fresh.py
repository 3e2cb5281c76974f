"""A running server finds what is written meanwhile; of several servers, one indexes."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import AsyncExitStack
from functools import partial

import pytest
from mcp import Client

from ccgrep.refresh import watch
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.mcp_client import (
    LIMIT_S,
    ServerClient,
    needs_proc,
    processes_of,
    run_with_server,
    server_parameters,
    wait_until,
)

SERVERS = scale.of(5, 10)


def test_server_finds_new_turns_sessions_and_projects(home: Home) -> None:
    old = home.claude(1)
    old.turn("where is the zebra", "in the zoo")
    old.write()
    home.rest()
    home.index()

    async def work(server: ServerClient) -> None:
        assert await server.search("okapi") == []
        old.turn("and the okapi", "there too")
        old.append()
        await server.wait_for("okapi", [(old.id, 1)])
        new = home.claude(2)
        new.turn("a quagga", "is extinct")
        new.write()
        await server.wait_for("quagga", [(new.id, 0)])
        farm = home.claude(3, slug="-home-sam-src-farm", cwd="/home/sam/src/farm")
        farm.turn("a tapir", "is shy")
        farm.write()
        await server.wait_for("tapir", [(farm.id, 0)])
        farm.turn("a second tapir", "is shy too")
        farm.append()
        await server.wait_for("second", [(farm.id, 1)])
        codex = home.codex(4)
        codex.meta()
        codex.turn("a gnu", "is a gnu")
        codex.write()
        await server.wait_for("gnu", [(codex.id, 0)])

    run_with_server(home, work)
    assert_same_as_fresh(home)


def test_server_on_an_empty_home_finds_the_first_session(home: Home) -> None:
    async def work(server: ServerClient) -> None:
        file = home.claude()
        file.turn("where is the zebra", "in the zoo")
        file.write()
        await server.wait_for("zebra", [(file.id, 0)])

    run_with_server(home, work)


def test_one_of_many_servers_indexes_and_another_takes_over(
    home: Home, capfd: pytest.CaptureFixture[str]
) -> None:
    file = home.claude()
    file.turn("where is the zebra", "in the zoo")
    file.write()
    home.index()

    async def work() -> None:
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(Client(server_parameters(home)))
                for _ in range(SERVERS)
            ]
            servers = [ServerClient(client) for client in clients]
            for number in range(3):
                file.turn(f"okapi{number}", "yes")
                file.append()
                for server in servers:
                    await server.wait_for(f"okapi{number}", [(file.id, number + 1)])
            (watcher,) = _watchers(home)
            os.kill(watcher, signal.SIGKILL)
            file.turn("quagga", "yes")
            file.append()
            alive = [server for server in servers if await _is_alive(server)]
            assert len(alive) == SERVERS - 1
            for server in alive:
                await server.wait_for("quagga", [(file.id, 4)])

    asyncio.run(work())
    assert capfd.readouterr().err == ""
    wait_until(lambda: not processes_of(home))
    assert_same_as_fresh(home)


def _watchers(home: Home) -> list[int]:
    """Return the processes that hold a watch lock: its file ends with the owner's id."""
    owners = [path.read_text() for path in home.store_dir.glob("watch-*.lock")]
    return [int(owner.split()[-1]) for owner in owners]


async def _is_alive(server: ServerClient) -> bool:
    try:
        await asyncio.wait_for(server.client.list_tools(), LIMIT_S)
    except Exception:
        return False
    return True


def test_watcher_polls_where_the_kernel_does_not_report_changes(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr(watch, "watch", refuse)
    file = home.claude()
    file.turn("where is the zebra", "in the zoo")
    file.write()
    stop = threading.Event()
    warnings: list[str] = []
    watcher = threading.Thread(target=watch.keep_fresh, args=(home.config, stop, warnings.append))
    watcher.start()
    try:
        for count in (1, 2, 3):
            wait_until(partial(_has_session_of, home, count))
            file.turn("and now", "too")
            file.append()
    finally:
        stop.set()
        watcher.join()
    (warning,) = warnings
    assert "watch limit reached" in warning


def _has_session_of(home: Home, turns: int) -> bool:
    is_created = (home.store_dir / "FORMAT").exists()
    return is_created and any(row.session.turns == turns for row in home.rows().values())


_SERVER_KILLED_AT = """
import os, signal, sys
from ccgrep import cli
from ccgrep.store import fsio

def hook(operation, path):
    if operation == "rename" and path.endswith(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)

fsio.hook = hook
cli.main(["mcp"])
"""
_LIST = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_conversations"},
}  # fmt: skip


def test_next_server_recovers_from_kills_while_indexing(home: Home) -> None:
    files = [home.claude(seed) for seed in range(1, 6)]
    for file in files:
        for number in range(3):
            file.turn(f"prompt {file.id} {number}", "answer", "make", "ok")
        file.write()
    for published in (".pack", "/HEAD", "/SYNCED", "/seen"):
        with subprocess.Popen(
            [sys.executable, "-c", _SERVER_KILLED_AT, published],
            env=home.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        ) as server:
            assert server.stdin is not None
            server.stdin.write(json.dumps(_LIST) + "\n")
            server.stdin.flush()
            assert server.wait(LIMIT_S) == -signal.SIGKILL
    wait_until(lambda: not processes_of(home))

    async def work(server: ServerClient) -> None:
        await server.wait_for(f'"prompt {files[-1].id} 2"', [(files[-1].id, 2)])
        listed = await server.call("list_conversations")
        assert listed["total_conversations"] == len(files)

    run_with_server(home, work)
    assert_same_as_fresh(home)


def test_server_exits_when_its_input_is_closed(home: Home) -> None:
    file = home.claude()
    file.turn("where is the zebra", "in the zoo")
    file.write()
    done = subprocess.run(
        [sys.executable, "-m", "ccgrep", "mcp"],
        env=home.environment,
        input="",
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    wait_until(lambda: not processes_of(home))


@needs_proc
def test_memory_stays_flat_over_many_calls(home: Home) -> None:
    for seed in range(1, 20):
        file = home.claude(seed)
        for number in range(10):
            file.turn(f"zebra {seed} {number}", "stripes " * 50, "make test", "ok " * 100)
        file.write()
    home.index()

    async def work(server: ServerClient) -> list[int]:
        (process,) = (pid for pid in processes_of(home) if _parent(pid) == os.getpid())
        sizes = []
        calls = scale.of(400, 1000)
        for number in range(calls):
            if number in (300, calls - 1):  # By then, caches are full.
                sizes.append(_anonymous_kb(process))
            match number % 4:
                case 0:
                    await server.call("search_conversations", query=f"zebra {number}", limit=20)
                case 1:
                    await server.call("list_conversations")
                case 2:
                    await server.call("read_conversation", session_id=file.id)
                case 3:
                    await server.call("read_turn", session_id=file.id, turn_number=number % 10)
        return sizes

    early, late = run_with_server(home, work)
    assert late < early + 8_000


def _parent(process: int) -> int:
    return _status_field(process, "PPid")


def _anonymous_kb(process: int) -> int:
    return _status_field(process, "RssAnon")


def _status_field(process: int, name: str) -> int:
    with open(f"/proc/{process}/status", encoding="utf-8") as file:
        (line,) = (line for line in file if line.startswith(f"{name}:"))
    return int(line.split()[1])
