"""Writes a home directory of synthetic transcripts that is shaped like real ones.

    python bench/generate.py DIR --bytes 1e9 --files 5000 [--seed N] [--turns N]

Record types, line sizes, streaming fragments, repeats and the share of text worth keeping
follow a census of 5,278 Claude Code and 943 Codex transcripts; the words are made up. The same
arguments give the same bytes, whatever the number of processes. Damaged lines, compressed
rollouts and spilled tool results are left to the tests.
"""

import argparse
import functools
import multiprocessing
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.claude import write_claude
from bench.codex import write_codex
from bench.text import lexicon, vocabulary
from bench.transcript import Family, Summary, skewed, split, total

__all__ = ["Summary", "generate", "vocabulary"]

_CODEX_BYTE_SHARE = 0.20
_CODEX_FILE_SHARE = 0.10
_MAIN_FILE_SHARE = 0.34
_EMPTY_MAIN_SHARE = 0.07
_FORK_SHARE = 0.008
_WORKER_SHARE = 0.22
_AGENT_BYTE_SHARE = 0.39
_COPIED_BYTE_SHARE = 0.02
_BYTES_PER_FILE = 200_000
_BYTES_PER_TURN = 115_000
_FILES_PER_PROJECT = 60
_YOUNGEST = 1 / 30

# A turn with tools, thinking and metadata does not fit in less; files below that are made of
# small turns, so that total size and number of files are still what was asked for.
_LEAST_FILE_BYTES = 40_000
_SMALL_TURN_BYTES = 2_600


def generate(
    directory: Path,
    total_bytes: int,
    files: int,
    seed: int = 1,
    turns: int | None = None,
    processes: int | None = None,
) -> Summary:
    """Fills a directory with transcripts; with `turns`, that many small turns of any total size."""
    if turns is None and total_bytes < files * _LEAST_FILE_BYTES:
        turns = max(1, total_bytes // _SMALL_TURN_BYTES)
    families = _plan(total_bytes, files, seed, turns)
    families.sort(key=lambda family: family.max_bytes + family.turns, reverse=True)
    lexicon()  # made once here, not in each process
    write = functools.partial(_write, directory, seed)
    with multiprocessing.Pool(processes) as pool:
        return total(pool.imap_unordered(write, families, chunksize=4))


def _write(directory: Path, seed: int, family: Family) -> Summary:
    write = write_codex if family.source == "codex" else write_claude
    return write(family, directory, seed)


def _plan(total_bytes: int, files: int, seed: int, turns: int | None) -> list[Family]:
    """Decides how many turns and bytes each family gets."""
    rng = random.Random(f"{seed}:plan")
    is_small = turns is not None
    wanted = max(files, total_bytes // _BYTES_PER_TURN) if turns is None else turns
    files = min(files, wanted)
    codex_files = round(files * _CODEX_FILE_SHARE)
    claude_files = files - codex_files
    codex_turns = max(codex_files, round(wanted * _CODEX_BYTE_SHARE)) if codex_files else 0
    codex_turns = min(codex_turns, wanted - claude_files)
    codex_bytes = round(total_bytes * _CODEX_BYTE_SHARE) if codex_files else 0
    claude_bytes = round((total_bytes - codex_bytes) * (1 - _COPIED_BYTE_SHARE))
    projects = max(1, files // _FILES_PER_PROJECT)
    shares = _share(rng, codex_files, codex_turns, codex_bytes)
    claude_turns = wanted - codex_turns
    families = _plan_claude(rng, claude_files, claude_turns, claude_bytes, projects, is_small)
    for i, share in enumerate(shares):
        families.append(Family("codex", i, *_origin(rng, projects), *share, is_small))
    return families


def _plan_claude(
    rng: random.Random, files: int, turns: int, max_bytes: int, projects: int, is_small: bool
) -> list[Family]:
    mains = max(1, round(files * _MAIN_FILE_SHARE))
    agents = files - mains
    forks = 0 if is_small else round(mains * _FORK_SHARE)
    empties = 0 if is_small else round(mains * _EMPTY_MAIN_SHARE)
    talking = mains - forks - empties
    weights = skewed(rng, agents, 1)
    if not is_small:
        weights = [0 if rng.random() < _WORKER_SHARE else weight for weight in weights]
    agent_total = round(max_bytes * _AGENT_BYTE_SHARE) if any(weights) else 0
    children: list[list[int]] = [[] for _ in range(talking)]
    parents = rng.choices(children, skewed(rng, talking, 1.6), k=agents)
    for size, parent in zip(split(agent_total, weights), parents, strict=True):
        parent.append(size)
    shares = _share(rng, talking, turns - agents, max_bytes - agent_total) + [(0, 0)] * empties
    children += [[]] * empties
    forked = set(rng.sample(range(talking), forks))
    return [
        Family("claude", i, *_origin(rng, projects), *share, is_small, tuple(below), i in forked)
        for i, (share, below) in enumerate(zip(shares, children, strict=True))
    ]


def _share(rng: random.Random, files: int, turns: int, max_bytes: int) -> list[tuple[int, int]]:
    """Turns and bytes of each file; at least one turn."""
    counts = [1 + extra for extra in split(turns - files, skewed(rng, files, 1.1))]
    weights = [n * w for n, w in zip(counts, skewed(rng, files, 0.7), strict=True)]
    return list(zip(counts, split(max_bytes, weights), strict=True))


def _origin(rng: random.Random, projects: int) -> tuple[int, float]:
    """The project and the age of a family."""
    return rng.randrange(projects), rng.uniform(_YOUNGEST, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", type=Path, help="home directory to fill")
    parser.add_argument("--bytes", type=float, default=1e9, help="total size (default 1e9)")
    parser.add_argument("--files", type=int, help="transcripts (default: one per 200 kB)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--turns", type=int, help="this many small turns; --bytes is ignored")
    parser.add_argument("--processes", type=int, help="default: one per core")
    args = parser.parse_args()
    files = args.files or max(1, int(args.bytes) // _BYTES_PER_FILE)
    made = generate(args.directory, int(args.bytes), files, args.seed, args.turns, args.processes)
    print(f"{made.files} files, {made.bytes} bytes, {made.turns} turns")


if __name__ == "__main__":
    main()
