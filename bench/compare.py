"""Compares the speed and size of ccgrep with other tools.

    python -m bench.compare [--scales 0.1,1,10,1m,meaning] [--home DIR] [--out DIR]

A scale is a number of gigabytes of generated transcripts, `1m` a million small turns, or `meaning`
a semantic search (`bench/compare_semantic.py`). Each scale gets a file of results, from which
`python -m bench.report` makes tables and plots. A scale that has results is measured again only
with `--again`. With `--home`, only the transcripts of that home are measured. It is never changed.

Tools take turns, so other load on the machine affects all of them alike. A tool that fails, takes
too long or does not find the planted session is excluded from then on, with a note. A slow tool
gets fewer runs, and each figure has the number of its runs.
"""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec

from bench import compare_semantic, measure, report
from bench.contender import PLANTED_WORD, Contender, Limits, make_contender
from bench.coverage import measure_coverage
from bench.home import ROOTS, GrowingSession, disk_usage, generate_home, mirror_home
from bench.peers import PEERS, InstallDir, Peer, install
from bench.results import (
    RESULTS,
    Corpus,
    Result,
    describe_machine,
    read_result,
    save,
    today,
    wait_for_idle,
)
from bench.text import TERMS

_BYTES_PER_FILE = 200_000
_FILES_OF_TURNS = 5000
_NO_OP_RUNS = 5
_APPEND_RUNS = 10
_FREQUENT_WORD = TERMS[0]
_DROP_CACHES = Path("/proc/sys/vm/drop_caches")  # on Linux, as root


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scales", default="0.1,1,10,1m,meaning")
    parser.add_argument("--home", type=Path, help="measure on this home, without changing it")
    parser.add_argument("--out", type=Path, help="directory for results (default: bench/results)")
    parser.add_argument(
        "--cache", type=Path, default=Path(".bench"), help="directory for tools and homes"
    )
    parser.add_argument("--only", default="", help="measure only these tools (comma-separated)")
    parser.add_argument(
        "--again", action="store_true", help="measure scales that have results again"
    )
    parser.add_argument("--runs", type=int, default=50, help="runs of each search (default 50)")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for a build or refresh")
    parser.add_argument(
        "--budget", type=float, default=60, help="seconds for all searches of a kind, per tool"
    )
    arguments = parser.parse_args()
    install_dir = InstallDir(arguments.cache.absolute())
    out = arguments.out or (install_dir.directory / "real" if arguments.home else RESULTS)
    names = [name.strip() for name in arguments.only.split(",") if name.strip()]
    peers = [peer for peer in PEERS if not names or peer.name in names]
    limits = Limits(arguments.runs, arguments.timeout, arguments.budget)
    install(install_dir, peers)
    covered: dict[str, list[str]] = {}
    for scale in ["home"] if arguments.home else arguments.scales.split(","):
        path = out / f"{scale}.json"
        if path.exists() and read_result(path).is_complete and not arguments.again:
            print(f"{scale}: measured on {read_result(path).date}, in {path}")
        elif scale.startswith("meaning"):
            load = wait_for_idle()
            save(compare_semantic.compare(scale, install_dir, limits.runs, load), out)
        else:
            covered = covered or measure_coverage(peers, install_dir, limits)
            load = wait_for_idle()
            compare(scale, arguments.home, peers, install_dir, limits, out, covered, load)
        print(report.format_ratios(read_result(path)), flush=True)
        if out == RESULTS:
            report.main()


def compare(
    scale: str,
    home: Path | None,
    peers: list[Peer],
    install_dir: InstallDir,
    limits: Limits,
    out: Path,
    covered: Mapping[str, list[str]],
    load: float,
) -> None:
    """Measure one scale, and save the results after each step."""
    work = install_dir.directory / "work" / scale
    for leftover in work.glob("of-*"):
        shutil.rmtree(leftover)
    corpus = _make_corpus(scale, home, work / "home")
    contenders = [make_contender(peer, install_dir, work, limits) for peer in peers]
    tools = [contender.tool for contender in contenders]
    for tool in tools:
        tool.covers = covered.get(tool.name, [])
    cold = _describe_cold()
    result = Result(scale, today(), describe_machine(), corpus, tools, cold=cold, load=load)
    try:
        with GrowingSession(work / "home", PLANTED_WORD) as session:
            for contender in contenders:
                _build(contender)
                save(result, out)
            for name, step in _STEPS.items():
                _log("all", name)
                step([each for each in contenders if not each.is_excluded], session, limits)
                save(result, out)
    finally:
        for contender in contenders:
            contender.stop()
    result.is_complete = True
    save(result, out)
    shutil.rmtree(work)


def _make_corpus(scale: str, real_home: Path | None, home: Path) -> Corpus:
    """Generate or mirror the home, unless an earlier run has done so."""
    description = home.with_name("corpus.json")
    if description.exists():
        return msgspec.json.decode(description.read_bytes(), type=Corpus)
    shutil.rmtree(home, ignore_errors=True)
    _log(scale, "making transcripts")
    turns = 0
    if real_home is not None:
        mirror_home(real_home, home)
    elif scale.endswith("m"):
        turns = generate_home(home, 0, _FILES_OF_TURNS, int(float(scale[:-1]) * 1e6)).turns
    else:
        size = int(float(scale) * 1e9)
        turns = generate_home(home, size, max(size // _BYTES_PER_FILE, 10)).turns
    files = [path for root in ROOTS for path in (home / root).rglob("*.jsonl")]
    size = sum(path.stat().st_size for path in files)
    corpus = Corpus("transcripts", size, len(files), turns)
    description.write_bytes(msgspec.json.encode(corpus))
    return corpus


def _build(contender: Contender) -> None:
    """Have a tool build its index, if it has one, and find the planted word."""
    if contender.is_excluded:
        return
    _log(contender.peer.name, "build")
    if not contender.peer.is_scan:
        run = contender.build()
        if run is None:
            return
        contender.record("build", [run.seconds])
        contender.record_memory("build", [run])
        contender.record("disk", [disk_usage(contender.home)])
    if contender.peer.start:
        contender.start()
    if not contender.is_excluded:
        contender.search(PLANTED_WORD)
    if contender.peer.refresh and not contender.is_excluded:
        runs = [contender.refresh() for _ in range(_NO_OP_RUNS)]
        contender.record("no_op", [run.seconds for run in runs if run is not None])


def _search(contenders: list[Contender], _session: GrowingSession, limits: Limits) -> None:
    cases = {each.peer.name: partial(each.search, PLANTED_WORD) for each in contenders}
    runs = measure.run_interleaved(cases, limits.runs, limits.budget_s)
    for contender in contenders:
        own = runs[contender.peer.name]
        contender.record("search", [run.seconds for run in own])
        contender.record("first_byte", [run.first_s for run in own])
        contender.record_memory("search", own)


def _search_frequent(contenders: list[Contender], _session: GrowingSession, limits: Limits) -> None:
    cases = {
        each.peer.name: partial(each.search, _FREQUENT_WORD, must_find=False) for each in contenders
    }
    runs = measure.run_interleaved(cases, limits.runs, limits.budget_s)
    for contender in contenders:
        contender.record("common", [run.seconds for run in runs[contender.peer.name]])


def _search_appended(contenders: list[Contender], session: GrowingSession, limits: Limits) -> None:
    """Append a turn with a new word before each round, and search for that word."""

    def append() -> float:
        session.words = f"appendedword{session.turns}"
        session.append_turn()
        return 0.0

    def search(contender: Contender) -> float | None:
        # The refresh counts, for tools whose search does not ingest changes.
        started = time.monotonic()
        if contender.peer.is_stale and contender.refresh() is None:
            return None
        run = contender.search(session.words)
        return None if run is None else time.monotonic() - started

    cases: dict[str, Callable[[], float | None]] = {"": append}
    cases |= {each.peer.name: partial(search, each) for each in contenders}
    seconds = measure.run_interleaved(cases, _APPEND_RUNS, limits.budget_s)
    session.settle()
    for contender in contenders:
        contender.record("appended", seconds[contender.peer.name])
        contender.ingest_changes()


def _search_cold(contenders: list[Contender], session: GrowingSession, limits: Limits) -> None:
    if not _describe_cold():
        return

    def search(contender: Contender) -> measure.Run | None:
        _drop_caches([session.home, contender.home])
        return contender.search(PLANTED_WORD, timeout_s=limits.timeout_s)

    cases = {each.peer.name: partial(search, each) for each in contenders}
    runs = measure.run_interleaved(cases, limits.runs, limits.budget_s)
    for contender in contenders:
        contender.record("cold", [run.seconds for run in runs[contender.peer.name]])


_STEPS = {
    "search": _search,
    "search for a frequent word": _search_frequent,
    "search after a turn was appended": _search_appended,
    "search with cold caches": _search_cold,
}


def _describe_cold() -> str:
    """Describe how caches are emptied, or return "" if this system has no way to."""
    if os.access(_DROP_CACHES, os.W_OK):
        return "the kernel's caches dropped before each run"
    if hasattr(os, "posix_fadvise"):
        return "the pages of transcripts and index given back before each run (posix_fadvise)"
    return ""


def _drop_caches(directories: list[Path]) -> None:
    """Make the next command read these directories from the disk. As root, drop all caches."""
    os.sync()
    if os.access(_DROP_CACHES, os.W_OK):
        _DROP_CACHES.write_text("3", encoding="ascii")
        return
    for path in (path for top in directories for path in top.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _log(subject: str, message: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {subject}: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
