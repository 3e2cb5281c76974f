"""Generates a home directory of transcripts that are shaped like real ones.

    python bench/generate.py DIR --bytes 1e9 --files 5000 [--seed N] [--turns N]

Record types, line sizes, streaming fragments, repetitions and the share of text that ccgrep stores
follow a census of 5,278 Claude Code and 943 Codex transcripts. The words are made up. The same
arguments give the same bytes with any number of processes. Damaged lines, compressed rollouts and
spilled tool results are not generated, but covered by the tests.
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
from bench.transcript import Family, Summary, add_up, random_weights, split

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

# A turn with tools, thinking and metadata needs more than this. Smaller files consist of small
# turns, so total size and number of files are still as requested.
_MIN_FULL_FILE_BYTES = 40_000
_SMALL_TURN_BYTES = 2_600


def generate(
    directory: Path,
    total_bytes: int,
    files: int,
    seed: int = 1,
    turns: int | None = None,
    processes: int | None = None,
) -> Summary:
    """Fill a directory with transcripts. `turns` asks for small turns, and ignores the size."""
    if turns is None and total_bytes < files * _MIN_FULL_FILE_BYTES:
        turns = max(1, total_bytes // _SMALL_TURN_BYTES)
    families = _plan(total_bytes, files, seed, turns)
    families.sort(key=lambda family: family.max_bytes + family.turns, reverse=True)
    lexicon()  # forked processes inherit the cached words
    write = functools.partial(_write, directory, seed)
    with multiprocessing.Pool(processes) as pool:
        return add_up(pool.imap_unordered(write, families, chunksize=4))


def _write(directory: Path, seed: int, family: Family) -> Summary:
    write = write_codex if family.source == "codex" else write_claude
    return write(family, directory, seed)


def _plan(total_bytes: int, files: int, seed: int, turns: int | None) -> list[Family]:
    """Decide how many turns and bytes each family gets."""
    rng = random.Random(f"{seed}:plan")
    is_small = turns is not None
    all_turns = max(files, total_bytes // _BYTES_PER_TURN) if turns is None else turns
    files = min(files, all_turns)
    codex_files = round(files * _CODEX_FILE_SHARE)
    claude_files = files - codex_files
    codex_turns = max(codex_files, round(all_turns * _CODEX_BYTE_SHARE)) if codex_files else 0
    codex_turns = min(codex_turns, all_turns - claude_files)
    codex_bytes = round(total_bytes * _CODEX_BYTE_SHARE) if codex_files else 0
    claude_bytes = round((total_bytes - codex_bytes) * (1 - _COPIED_BYTE_SHARE))
    projects = max(1, files // _FILES_PER_PROJECT)
    shares = _share_out(rng, codex_files, codex_turns, codex_bytes)
    claude_turns = all_turns - codex_turns
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
    with_turns = mains - forks - empties
    weights = random_weights(rng, agents, 1)
    if not is_small:
        weights = [0 if rng.random() < _WORKER_SHARE else weight for weight in weights]
    agent_total = round(max_bytes * _AGENT_BYTE_SHARE) if any(weights) else 0
    children: list[list[int]] = [[] for _ in range(with_turns)]
    parents = rng.choices(children, random_weights(rng, with_turns, 1.6), k=agents)
    for size, parent in zip(split(agent_total, weights), parents, strict=True):
        parent.append(size)
    shares = (
        _share_out(rng, with_turns, turns - agents, max_bytes - agent_total) + [(0, 0)] * empties
    )
    children += [[]] * empties
    forked = set(rng.sample(range(with_turns), forks))
    return [
        Family(
            "claude", i, *_origin(rng, projects), *share, is_small, tuple(agent_bytes), i in forked
        )
        for i, (share, agent_bytes) in enumerate(zip(shares, children, strict=True))
    ]


def _share_out(rng: random.Random, files: int, turns: int, max_bytes: int) -> list[tuple[int, int]]:
    """Return the turns and bytes of each file, with at least one turn."""
    counts = [1 + extra for extra in split(turns - files, random_weights(rng, files, 1.1))]
    weights = [n * w for n, w in zip(counts, random_weights(rng, files, 0.7), strict=True)]
    return list(zip(counts, split(max_bytes, weights), strict=True))


def _origin(rng: random.Random, projects: int) -> tuple[int, float]:
    """Return the project and the age of a family."""
    return rng.randrange(projects), rng.uniform(_YOUNGEST, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", type=Path, help="the home directory to fill")
    parser.add_argument("--bytes", type=float, default=1e9, help="total size (default 1e9)")
    parser.add_argument("--files", type=int, help="transcripts (default: one per 200 kB)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--turns", type=int, help="generate small turns and ignore --bytes")
    parser.add_argument("--processes", type=int, help="default: one per core")
    args = parser.parse_args()
    files = args.files or max(1, int(args.bytes) // _BYTES_PER_FILE)
    summary = generate(
        args.directory, int(args.bytes), files, args.seed, args.turns, args.processes
    )
    print(f"{summary.files} files, {summary.bytes} bytes, {summary.turns} turns")


if __name__ == "__main__":
    main()
