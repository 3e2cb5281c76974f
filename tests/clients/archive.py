"""The distilled transcripts in the repository: an archive and the expected outcomes, by client."""

import io
import os
import tarfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec

from tests.clients.script import Client, Outcome

FOLDER = Path(__file__).parents[1] / "sources" / "client_transcripts"
_TEMP = "claude-UID"
"""The folder in which Claude Code keeps outputs of background commands, named after the user."""
CLIENTS: tuple[Client, ...] = ("claude", "codex")


def write(client: Client, outcomes: list[Outcome], files: dict[str, bytes]) -> None:
    """Write the outcomes of a client, and the files of all its homes."""
    FOLDER.mkdir(exist_ok=True)
    expected = msgspec.json.format(msgspec.json.encode(outcomes), indent=1)
    (FOLDER / f"{client}.json").write_bytes(expected + b"\n")
    with tarfile.open(FOLDER / f"{client}.tar.xz", "w:xz", preset=9) as archive:
        for path, content in sorted(files.items()):
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


@cache
def read_outcomes() -> dict[str, Outcome]:
    """Return the outcome of each distilled scenario."""
    paths = (FOLDER / f"{client}.json" for client in CLIENTS)
    outcomes = (msgspec.json.decode(path.read_bytes(), type=list[Outcome]) for path in paths)
    return {one.scenario.name: one for many in outcomes for one in many}


@cache
def _read_files(client: Client) -> dict[str, bytes]:
    with tarfile.open(FOLDER / f"{client}.tar.xz") as archive:
        members = (member for member in archive.getmembers() if member.isfile())
        return {one.name: file.read() for one in members if (file := archive.extractfile(one))}


def unpack(outcome: Outcome, home: Path) -> None:
    """Write the home of a scenario to a directory."""
    prefix = f"{outcome.scenario.name}/"
    for path, content in _read_files(outcome.scenario.client).items():
        if path.startswith(prefix):
            target = home / path.removeprefix(prefix).replace(_TEMP, f"claude-{os.getuid()}")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


def collect(outcome: Outcome, home: Path, patterns: Iterable[str]) -> dict[str, bytes]:
    """Return the files of a home that match, by their names in the archive."""
    found = {path for pattern in patterns for path in home.glob(pattern) if path.is_file()}
    name = outcome.scenario.name
    own = f"claude-{os.getuid()}"
    paths = {path: str(path.relative_to(home)).replace(own, _TEMP) for path in sorted(found)}
    return {f"{name}/{stored}": path.read_bytes() for path, stored in paths.items()}
