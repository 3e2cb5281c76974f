"""Runs many commands in one process, since every new process would load the model."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ccgrep.semantic.vector_files import model_dir
from tests.helpers.homes import Home

_MANY = """
import io, json, sys
from ccgrep.cli import main
def run(arguments):
    kept = sys.stdout, sys.stderr
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2)]
    sys.stdout, sys.stderr = streams
    try:
        code = main(arguments)
    finally:
        sys.stdout, sys.stderr = kept
    for stream in streams:
        stream.flush()
    return [code, *(stream.buffer.getvalue().decode() for stream in streams)]
{setup}
json.dump([run(arguments) for arguments in json.load(sys.stdin)], sys.stdout)
"""


class Done(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def places(self) -> list[str]:
        """`SESSION:TURN` of each record line, in order."""
        return [":".join(line.split(":")[:2]) for line in self.out.splitlines()]

    @property
    def scores(self) -> list[float]:
        return [float(line.split(":")[2]) for line in self.out.splitlines()]


def run_many(
    home: Home,
    commands: Iterable[Sequence[str]],
    setup: str = "",
    env: Mapping[str, str] | None = None,
) -> list[Done]:
    """Run commands one after the other in one process, after the code in `setup`."""
    done = subprocess.run(
        [sys.executable, "-c", _MANY.replace("{setup}", setup)],
        env={**home.environment, **(env or {})},
        input=json.dumps([list(command) for command in commands]),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    results: list[Any] = json.loads(done.stdout)
    return [Done(*result) for result in results]


def vectors_dir(home: Home) -> str:
    """Return the directory of the vectors of the model that tests use."""
    from ccgrep.semantic.model import find  # noqa: PLC0415 - reads the model's configuration

    return model_dir(str(home.store_dir), find(None, {}).id)


def vector_files_contain(home: Home, key: int) -> bool:
    """Return whether any file of vectors contains the key of a text."""
    data = key.to_bytes(8, "little")
    paths = (home.store_dir / "vectors").rglob("*")
    return any(data in path.read_bytes() for path in paths if path.is_file())
