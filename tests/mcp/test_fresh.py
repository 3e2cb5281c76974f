"""What is written while the server runs is found within three seconds, by one writer of many."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import AsyncExitStack

import pytest
from mcp import Client

from ccgrep.refresh import watch
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.mcp.client import Asked, asked, parameters, processes_of

FRESH_S = 3.0


def test_what_is_appended_and_what_is_new_is_found_within_three_seconds(home: Home) -> None:
    old = home.claude(1)
    old.turn("where is the zebra", "in the zoo")
    old.write()
    home.rest()
    home.index()

    async def work(server: Asked) -> None:
        assert await server.search("okapi") == []
        old.turn("and the okapi", "there too")
        old.append()
        await server.until("okapi", [(old.id, 1)], FRESH_S)
        new = home.claude(2)
        new.turn("a quagga", "is extinct")
        new.write()
        await server.until("quagga", [(new.id, 0)], FRESH_S)
        folder = home.claude(3, slug="-home-sam-src-farm", cwd="/home/sam/src/farm")
        folder.turn("a tapir", "is shy")
        folder.write()
        await server.until("tapir", [(folder.id, 0)], FRESH_S)
        folder.turn("a second tapir", "is shy too")
        folder.append()
        await server.until("second", [(folder.id, 1)], FRESH_S)
        codex = home.codex(4)
        codex.meta()
        codex.turn("a gnu", "is a gnu")
        codex.write()
        await server.until("gnu", [(codex.id, 0)], FRESH_S)

    asked(home, work)
    assert_same_as_fresh(home)


def test_a_server_on_an_empty_home_finds_the_first_session(home: Home) -> None:
    async def work(server: Asked) -> None:
        file = home.claude()
        file.turn("where is the zebra", "in the zoo")
        file.write()
        deadline = time.monotonic() + FRESH_S
        while True:  # Until there is a store, that is what is said.
            made = await server.tool("search_conversations", query="zebra")
            if made.get("results") or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.05)
        assert [hit["session_id"] for hit in made["results"]] == [file.id]

    asked(home, work)


def test_of_ten_servers_one_indexes_and_another_follows_it(
    home: Home, capfd: pytest.CaptureFixture[str]
) -> None:
    file = home.claude()
    file.turn("where is the zebra", "in the zoo")
    file.write()
    home.index()

    async def work() -> None:
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(Client(parameters(home))) for _ in range(10)]
            servers = [Asked(client) for client in clients]
            for number in range(3):
                file.turn(f"okapi{number}", "yes")
                file.append()
                for server in servers:
                    await server.until(f"okapi{number}", [(file.id, number + 1)], FRESH_S)
            (watcher,) = _watchers(home)
            os.kill(watcher, signal.SIGKILL)
            file.turn("quagga", "yes")
            file.append()
            left = [server for server in servers if await _is_alive(server)]
            assert len(left) == 9
            for server in left:
                await server.until("quagga", [(file.id, 4)], 2 * FRESH_S)

    asyncio.run(work())
    assert capfd.readouterr().err == ""
    assert processes_of(home) == {}
    assert_same_as_fresh(home)


def test_where_the_system_does_not_tell_of_changes_they_are_looked_for(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr(watch, "watch", refuse)
    file = home.claude()
    file.turn("where is the zebra", "in the zoo")
    file.write()
    stop = threading.Event()
    notes: list[str] = []
    watcher = threading.Thread(target=watch.keep_fresh, args=(home.config, stop, notes.append))
    watcher.start()
    try:
        for number in range(1, 4):
            deadline = time.monotonic() + FRESH_S
            while number not in _turn_counts(home):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            file.turn("and now", "too")
            file.append()
    finally:
        stop.set()
        watcher.join()
    (note,) = notes
    assert "watch limit reached" in note


def _turn_counts(home: Home) -> list[int]:
    if not (home.store_dir / "HEAD").exists():
        return []
    return [row.session.turns for row in home.rows().values()]


def _watchers(home: Home) -> list[int]:
    """The processes that hold the lock of who watches, from the owner's name in it."""
    owners = [path.read_text() for path in home.store_dir.glob("watch-*.lock")]
    return [int(owner.split()[-1]) for owner in owners]


async def _is_alive(server: Asked) -> bool:
    try:
        await asyncio.wait_for(server.client.list_tools(), 5)
    except Exception:
        return False
    return True


def test_a_kill_in_the_middle_of_indexing_leaves_a_store_that_the_next_server_heals(
    home: Home,
) -> None:
    files = []
    for seed in range(1, 20):
        file = home.claude(seed)
        for number in range(20):
            file.turn(f"prompt {seed} {number}", "answer " * 200, "make", "out " * 500)
        file.write()
        files.append(file)
    for delay_s in (0.0, 0.3, 0.8):
        server = subprocess.Popen(
            [sys.executable, "-m", "ccgrep", "mcp"],
            env=home.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        while not (home.store_dir / "lock").exists():
            time.sleep(0.01)
        time.sleep(delay_s)
        server.kill()
        server.wait()
    deadline = time.monotonic() + 10
    while processes_of(home) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_of(home) == {}

    async def work(server: Asked) -> None:
        deadline = time.monotonic() + 30
        while True:
            made = await server.tool("list_conversations")
            if made.get("total_conversations") == len(files) or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.1)
        await server.until('"prompt 19 19"', [(files[-1].id, 19)], 30)

    asked(home, work)
    assert_same_as_fresh(home)


def test_the_server_ends_when_its_input_is_closed(home: Home) -> None:
    file = home.claude()
    file.turn("where is the zebra", "in the zoo")
    file.write()
    server = subprocess.Popen(
        [sys.executable, "-m", "ccgrep", "mcp"],
        env=home.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, error = server.communicate("", timeout=20)
    assert (server.returncode, out, error) == (0, "", "")
    assert processes_of(home) == {}


def test_memory_stays_flat_over_a_thousand_calls(home: Home) -> None:
    for seed in range(1, 20):
        file = home.claude(seed)
        for number in range(10):
            file.turn(f"zebra {seed} {number}", "stripes " * 50, "make test", "ok " * 100)
        file.write()
    home.index()

    async def work(server: Asked) -> list[int]:
        (process,) = processes_of(home)
        sizes = []
        for number in range(1000):
            if number in (300, 999):
                sizes.append(_resident_bytes(process))
            match number % 4:
                case 0:
                    await server.tool("search_conversations", query=f"zebra {number}", limit=20)
                case 1:
                    await server.tool("list_conversations")
                case 2:
                    await server.tool("read_conversation", session_id=file.id)
                case 3:
                    await server.tool("read_turn", session_id=file.id, turn_number=number % 10)
        return sizes

    early, late = asked(home, work)
    assert late < early + 8_000_000


def _resident_bytes(process: int) -> int:
    with open(f"/proc/{process}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
