"""Makes fixtures of the last run: `python -m tests.clients.distill [SCRATCH]`.

It takes every scenario that ran, shortens its transcripts, and writes them with the expected
outcomes to tests/sources/client_transcripts. A scenario that got stuck has no outcome.
"""

import sys
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tests.clients import archive
from tests.clients.__main__ import SCENARIOS, SCRATCH
from tests.clients.script import Client, Outcome
from tests.clients.shorten import rename, shorten_files

_FILES: dict[Client, tuple[str, ...]] = {
    "claude": (".claude/projects/**/*", ".claude/history.jsonl", "tmp/claude-*/**/*.output"),
    "codex": (".codex/sessions/**/*", ".codex/history.jsonl", ".codex/session_index.jsonl"),
}
_MAX_BYTES = 600_000


def main() -> int:
    scratch = Path(sys.argv[1]) if sys.argv[1:] else SCRATCH
    for client in archive.CLIENTS:
        names = [scenario.name for scenario in SCENARIOS if scenario.client == client]
        runs = [scratch.absolute() / "runs" / name for name in names]
        outcomes = [_read(run) for run in runs]
        files: dict[str, bytes] = {}
        for run, outcome in zip(runs, outcomes, strict=True):
            files |= _distill(run, outcome)
        archive.write(client, outcomes, files)
        print(f"{client}: {len(outcomes)} scenarios, {len(files)} files")
    size = sum(path.stat().st_size for path in archive.FOLDER.iterdir())
    print(f"{size} bytes in {archive.FOLDER}")
    return 0 if size <= _MAX_BYTES else 1


def _read(run: Path) -> Outcome:
    """Return the outcome of a run without its steps, which only the driver needs."""
    text = rename((run / "outcome.json").read_text(), run / "home")
    outcome = msgspec.json.decode(text, type=Outcome)
    if outcome.problems:
        raise SystemExit(f"{run.name} did not go as scripted: {outcome.problems}")
    return replace(outcome, scenario=replace(outcome.scenario, steps=(), settings={}))


def _distill(run: Path, outcome: Outcome) -> dict[str, bytes]:
    home = run / "home"
    files = archive.collect(outcome, home, _FILES[outcome.scenario.client])
    return shorten_files(files, home)


if __name__ == "__main__":
    sys.exit(main())
