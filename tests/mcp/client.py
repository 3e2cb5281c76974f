"""The server as an agent has it: a process of its own, asked by the SDK's client over stdio."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from mcp import Client, StdioServerParameters

from tests.helpers.homes import Home

T = TypeVar("T")
PATIENCE_S = 30.0


class Asked:
    """A server that is running; `tool` asks it."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers, whether that is an error or not."""
        made: dict[str, Any] = json.loads(await self.text(name, **arguments))
        return made

    async def text(self, name: str, **arguments: Any) -> str:
        result = await self.client.call_tool(name, arguments)
        (content,) = result.content
        assert content.type == "text"
        assert bool(result.is_error) == ('"error":' in content.text[:10])
        return content.text

    async def search(self, query: str, **arguments: Any) -> list[tuple[str, int]]:
        """The places of the hits."""
        found = await self.tool("search_conversations", query=query, **arguments)
        return [(hit["session_id"], hit["turn_number"]) for hit in found["results"]]

    async def until(self, query: str, places: list[tuple[str, int]], seconds: float) -> float:
        """Waits until a search finds these places; gives how long that took."""
        begun = time.monotonic()
        while (found := await self.search(query)) != places:
            waited = time.monotonic() - begun
            assert waited < seconds, f"{found} after {waited:.1f} s, not {places}"
            await asyncio.sleep(0.05)
        return time.monotonic() - begun


def parameters(home: Home, *arguments: str, **variables: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "ccgrep", "mcp", *arguments],
        env={**home.environment, **variables},
        cwd=str(home.directory),
    )


def asked(
    home: Home, work: Callable[[Asked], Awaitable[T]], *arguments: str, **variables: str
) -> T:
    """Starts a server on a home, and gives what `work` makes of it."""

    async def run() -> T:
        async with Client(parameters(home, *arguments, **variables)) as client:
            return await asyncio.wait_for(work(Asked(client)), 2 * PATIENCE_S)

    return asyncio.run(run())


def processes_of(home: Home) -> dict[int, str]:
    """The processes that work on a home, with what they run."""
    found = {}
    for name in os.listdir("/proc"):
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
