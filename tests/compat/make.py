"""Makes the store of a version of ccgrep, which all later versions must open.

    python -m tests.compat.make NAME [SOURCE]    writes tests/compat/NAME.tar.xz

SOURCE is the `src` directory of that version; the default is this version's. Before a format
changes, make the store of the old version: `git worktree add /tmp/old COMMIT`, then use
/tmp/old/src.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.helpers.transcripts import ClaudeFile, CodexFile

HERE = Path(__file__).parent
MARK = ["mark", "cd613e30:0", "kept", "--note", "since the first version with marks"]
TOPICS = ("login", "build", "worker", "cache")


def fill(projects: Path, codex_sessions: Path) -> list[ClaudeFile]:
    """Write the transcripts from which all of these stores are made."""
    files = []
    for seed, topic in enumerate(TOPICS):
        file = ClaudeFile(projects / "-home-sam-shop", seed + 1)
        for number in range(2):
            answer = f"the {topic} had no index, so it is mended in step {number}"
            file.turn(f"the {topic} is slow {number}", answer, f"make {topic}", f"ok {topic}\n")
        file.write()
        files.append(file)
    codex = CodexFile(codex_sessions, 5)
    codex.meta()
    codex.turn("list the proxies", "there are two", "ls", "a b c")
    codex.write()
    return files


def make(name: str, source: str) -> Path:
    target = HERE / f"{name}.tar.xz"
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        fill(home / ".claude" / "projects", home / ".codex" / "sessions")
        environment = {
            "HOME": directory,
            "CCGREP_DIR": str(home / "store"),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": source,
            "TZ": "UTC",
        }
        for command in (["index", "-q"], ["stats"], MARK, ["--semantic", "login"]):
            subprocess.run(
                [sys.executable, "-P", "-m", "ccgrep", *command],
                env=environment,
                stdout=subprocess.DEVNULL,
                check=False,  # The first versions lack some commands.
            )
        with tarfile.open(target, "w:xz") as archive:
            archive.add(home / "store", "store")
    return target


if __name__ == "__main__":
    default = HERE.parents[1] / "src"
    print(make(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else str(default)))
