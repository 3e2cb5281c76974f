"""Measures searches that once took much longer than a plain one: no more than three times.

python bench/corners.py                            100 MB, and a session of 100,000 turns
python bench/corners.py --bytes 1e7 --turns 1e4    less of both

A frequent word is searched with a limit. Without one, an exact search prints every turn with it, so
it is compared with a plain search that prints all of its hits.
Commands take turns. Figures are the least CPU time of each command and its children, because that
is the same on a busy machine.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.generate import vocabulary
from bench.home import generate_home

_BUDGET = 3.0
_SOURCE = str(Path(__file__).parents[1] / "src")
_UNSET = frozenset(["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "PYTHONDONTWRITEBYTECODE"])


class Home:
    """A home directory with an indexed store."""

    def __init__(self, directory: Path) -> None:
        environment = {name: value for name, value in os.environ.items() if name not in _UNSET}
        store = {"HOME": str(directory), "CCGREP_DIR": str(directory / "store")}
        self._environment = {**environment, **store, "PYTHONPATH": _SOURCE, "CCGREP_EMBED": "never"}
        self.run("index", "-q")

    def run(self, *words: str) -> str:
        command = [sys.executable, "-m", "ccgrep", *words]
        done = subprocess.run(command, env=self._environment, capture_output=True, check=False)
        if done.returncode > 1:
            raise RuntimeError(f"{command} failed: {done.stderr.decode()}")
        return done.stdout.decode()

    def cpu_seconds(self, words: list[str]) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.run(*words)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_long_session(home: Path, turns: int) -> None:
    """Write one session in which every turn has the word `zebra`."""
    folder = home / ".claude" / "projects" / "-src-long"
    folder.mkdir(parents=True)
    id = "10000000-0000-4000-8000-000000000000"
    common = {"sessionId": id, "cwd": "/src/long", "version": "2.1.0", "isSidechain": False}
    with open(folder / f"{id}.jsonl", "w", encoding="utf-8") as file:
        parent: str | None = None
        for number in range(2 * turns):
            role = "assistant" if number % 2 else "user"
            uuid = f"{number:08x}-0000-4000-8000-000000000000"
            seconds = number % 86400
            time = f"2026-01-{1 + number // 86400:02}T{seconds // 3600:02}:{seconds // 60 % 60:02}"
            message: dict[str, object] = {"role": role, "content": f"where is zebra {number}?"}
            if role == "assistant":
                message["content"] = [{"type": "text", "text": f"The zebra {number} is here."}]
                message |= {"id": f"msg_{number}", "type": "message", "model": "claude-opus-4-6"}
            record: dict[str, object] = {**common, "type": role, "uuid": uuid, "parentUuid": parent}
            record |= {"timestamp": f"{time}:{seconds % 60:02}.000Z", "message": message}
            file.write(json.dumps(record) + "\n")
            parent = uuid


def report(home: Home, corner: list[str], plain: list[str], runs: int) -> bool:
    """Print how many times longer a search takes than a plain one, and whether that is too long."""
    commands = (corner, plain)
    least = [float("inf")] * 2
    for _ in range(runs):
        for at, words in enumerate(commands):
            least[at] = min(least[at], home.cpu_seconds(words))
    ratio = least[0] / least[1]
    verdict = "ok" if ratio <= _BUDGET else "TOO SLOW"
    names = [" ".join(words) for words in commands]
    print(
        f"{names[0]:30} {1000 * least[0]:7.0f} ms  {names[1]:20} {1000 * least[1]:7.0f} ms  "
        f"ratio {ratio:5.2f} of {_BUDGET:.0f}  {verdict}"
    )
    return ratio <= _BUDGET


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bytes", type=float, default=1e8)
    parser.add_argument("--turns", type=float, default=1e5)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as name:
        tools, long = Path(name) / "tools", Path(name) / "long"
        generate_home(tools, int(arguments.bytes), max(int(arguments.bytes / 200_000), 10), None)
        write_long_session(long, int(arguments.turns))
        results = []
        home = Home(tools)
        words = vocabulary()
        for word in (words[len(words) // 10], "nowhere"):
            results.append(report(home, ["-F", word, "-t", "tool"], [word], arguments.runs))
        for word in (words[20], words[300]):
            corner = ["-n", "10", "-F", word, "-t", "tool"]
            results.append(report(home, corner, ["-n", "10", word], arguments.runs))
            results.append(report(home, corner[2:], ["-n", "0", word], arguments.runs))
        home = Home(long)
        for options in (["--json"], ["--jsonl"]):
            corner = [*options, "-n", "1", "zebra"]
            results.append(report(home, corner, ["-n", "1", "zebra"], arguments.runs))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
