"""The transcripts that fault tests begin with, and the states they bring a home to."""

from typing import Any

from tests.faults.injection import run
from tests.helpers import homes
from tests.helpers.homes import Home
from tests.helpers.transcripts import ClaudeFile


def write_sessions(home: Home, sessions: int = 6, turns: int = 4) -> list[ClaudeFile]:
    """Write sessions of both agents, a fork and a sub-agent; return Claude Code's sessions."""
    files = []
    for seed in range(sessions):
        file = home.claude(seed + 1, slug=f"-p{seed % 3}")
        for number in range(turns):
            file.turn(f"prompt {seed}-{number}", f"answer {seed}-{number}", "make", "ok\n" * 50)
        file.write()
        files.append(file)
    files[0].fork(home.projects / "-p0", 5, seed=77).write()
    agent = home.subagent(files[-1], "agent-a1b2c3d")
    agent.turn("look around", "nothing there")
    agent.write()
    codex = home.codex(5)
    codex.meta()
    codex.turn("list files", "done", "ls", "a b c")
    codex.write()
    return files


TOPICS = ("login", "build", "worker", "cache", "parser")


def index_topics(home: Home) -> None:
    """Index a session for each topic and tally them."""
    for seed, topic in enumerate(TOPICS):
        file = home.claude(seed + 1, cwd=f"/home/sam/{topic}")
        for number in range(4):
            file.turn(f"the {topic} is slow {number}", f"mended {number}", "make", f"ok {topic}\n")
        file.write()
    home.rest()
    home.index()
    assert home.run("stats").returncode == 0


def append_turns(files: list[ClaudeFile], round: int) -> None:
    """Append a turn to the first three sessions."""
    for file in files[:3]:
        file.turn(f"more {round}", f"done {round}")
        file.append()


def live_sessions(home: Home) -> list[tuple[Any, ...]]:
    """Return what a reader of the store sees; empty if there is no store yet."""
    return homes.live_sessions(home.store) if (home.store_dir / "FORMAT").exists() else []


def not_indexed(home: Home) -> None:
    """Write transcripts, without a store."""
    write_sessions(home)


def embedded(home: Home) -> None:
    """Index and embed two sessions, and write a third."""
    home.embed = "auto"
    for seed in (1, 2):
        file = home.claude(seed)
        file.turn(f"login case {seed}", "mended")
        file.write()
        assert run(home, "index", "-q").code == 0
    file = home.claude(3)
    file.turn("build is slow", "it is fast again")
    file.turn("worker hangs", "no more")
    file.write()
