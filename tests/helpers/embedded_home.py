"""What tests of searching by meaning share: homes that are embedded, and many answers of one
process, since every new one loads the model."""

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
def one(arguments):
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
{before}
json.dump([one(arguments) for arguments in json.load(sys.stdin)], sys.stdout)
"""


class Done(NamedTuple):
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
    before: str = "",
    env: Mapping[str, str] | None = None,
) -> list[Done]:
    """Runs the real commands one after the other in one process; `before` is code run first."""
    done = subprocess.run(
        [sys.executable, "-c", _MANY.replace("{before}", before)],
        env={**home.environment, **(env or {})},
        input=json.dumps([list(command) for command in commands]),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    made: list[Any] = json.loads(done.stdout)
    return [Done(*one) for one in made]


def vectors_dir(home: Home) -> str:
    """Where the vectors of the model are that tests use."""
    from ccgrep.semantic.model import find  # noqa: PLC0415 - reads the model's configuration

    return model_dir(str(home.store_dir), find(None, {}).id)
