"""Starts `ccgrep mcp` as a process and calls its tools with the SDK's client."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.client import ConnectMode

from tests.helpers.homes import Home

T = TypeVar("T")

LIMIT_S = 300.0
"""How long a test waits for a condition: so long that only a hang exceeds it."""
_POLL_S = 0.05

needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc")


class ServerClient:
    """A client of a running server."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the reply of a tool, which may be an error."""
        reply: dict[str, Any] = json.loads(await self.call_text(name, **arguments))
        return reply

    async def call_text(self, name: str, **arguments: Any) -> str:
        result = await self.client.call_tool(name, arguments)
        (content,) = result.content
        assert content.type == "text"
        assert bool(result.is_error) == ('"error":' in content.text[:10])
        return content.text

    async def search(self, query: str, **arguments: Any) -> list[tuple[str, int]]:
        """Return the places of the hits, or none if there is no store yet."""
        reply = await self.call("search_conversations", query=query, **arguments)
        assert reply.get("type") in (None, "store"), reply
        return [(hit["session_id"], hit["turn_number"]) for hit in reply.get("results", ())]

    async def wait_for(self, query: str, places: list[tuple[str, int]]) -> None:
        """Wait until a search finds exactly these places."""
        deadline = time.monotonic() + LIMIT_S
        while (found := await self.search(query)) != places:
            assert time.monotonic() < deadline, f"{query} is found at {found}, not at {places}"
            await asyncio.sleep(_POLL_S)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(_POLL_S)


def server_parameters(home: Home, *arguments: str, **variables: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "ccgrep", "mcp", *arguments],
        env={**home.environment, **variables},
        cwd=str(home.directory),
    )


def run_with_server(
    home: Home,
    work: Callable[[ServerClient], Awaitable[T]],
    *arguments: str,
    mode: ConnectMode = "auto",
    **variables: str,
) -> T:
    """Start a server on a home and return the result of `work`."""
    server = server_parameters(home, *arguments, **variables)

    async def run() -> T:
        async with Client(server, mode=mode, cache=None) as client:
            return await asyncio.wait_for(work(ServerClient(client)), 2 * LIMIT_S)

    return asyncio.run(run())


def processes_of(home: Home) -> dict[int, str]:
    """Return the processes that use a home, with their commands; empty without /proc."""
    found = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                variables = file.read().split(b"\0")
            with open(f"/proc/{name}/cmdline", "rb") as file:
                command = file.read().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if f"CCGREP_DIR={home.store_dir}".encode() in variables:
            found[int(name)] = command
    return found
