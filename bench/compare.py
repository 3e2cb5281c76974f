"""How fast and how small is it against what one would use instead? Everything in one go.

    python -m bench.compare [--scales 0.1,1,10,1m,meaning] [--home DIR] [--out DIR]

A scale is gigabytes of generated transcripts, `1m` a million small turns, `meaning` a query by
meaning (`bench/meaning.py`). Each gives a file of results, of which `python -m bench.report` makes
tables and plots; a scale that has one is not measured again unless `--again` says so. With `--home`
the transcripts of a real home are measured, and no other; it is only read.

Tools take turns, so that what else the machine does hits all alike. A tool that does not find the
session that was planted, fails, or takes longer than it may is noted as such and left out from
there on; one that is slow gets fewer runs, and their number is part of the figure.
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

from bench import meaning, measure, report
from bench.contender import RARE, Contender, Limits, contender
from bench.coverage import coverage
from bench.home import RACY_S, ROOTS, Growing, bytes_in, made, mirrored
from bench.peers import PEERS, Peer, Places, install
from bench.results import RESULTS, Corpus, Result, load_at_rest, machine, read_result, save, today
from bench.text import TERMS

_BYTES_PER_FILE = 200_000
_FILES_OF_TURNS = 5000
_NO_OPS = 5
_APPENDS = 10
_COMMON = TERMS[0]
_DROP_CACHES = Path("/proc/sys/vm/drop_caches")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scales", default="0.1,1,10,1m,meaning")
    parser.add_argument("--home", type=Path, help="a real home to measure on; it is only read")
    parser.add_argument("--out", type=Path, help="where results go (default: bench/results)")
    parser.add_argument("--cache", type=Path, default=Path(".bench"), help="peers, homes, indexes")
    parser.add_argument("--only", default="", help="names of tools, with commas between")
    parser.add_argument("--again", action="store_true", help="also scales that have results")
    parser.add_argument("--runs", type=int, default=50, help="of each search (default 50)")
    parser.add_argument("--timeout", type=float, default=600, help="seconds a step may take")
    parser.add_argument(
        "--budget", type=float, default=60, help="seconds for a tool's searches of a kind"
    )
    asked = parser.parse_args()
    places = Places(asked.cache.absolute())
    out = asked.out or (places.directory / "real" if asked.home else RESULTS)
    names = [name.strip() for name in asked.only.split(",") if name.strip()]
    peers = [peer for peer in PEERS if not names or peer.name in names]
    limits = Limits(asked.runs, asked.timeout, asked.budget)
    install(places, peers)
    covered: dict[str, list[str]] = {}
    for scale in ["home"] if asked.home else asked.scales.split(","):
        kept = out / f"{scale}.json"
        if kept.exists() and read_result(kept).is_complete and not asked.again:
            print(f"{scale}: measured on {read_result(kept).date}, in {kept}")
        elif scale.startswith("meaning"):
            save(meaning.compare(scale, places, limits.runs), out)
        else:
            covered = covered or coverage(peers, places, limits)
            compare(scale, asked.home, peers, places, limits, out, covered)
        print(report.as_text(read_result(kept)), flush=True)
        if out == RESULTS:
            report.main()


def compare(
    scale: str,
    home: Path | None,
    peers: list[Peer],
    places: Places,
    limits: Limits,
    out: Path,
    covered: Mapping[str, list[str]],
) -> None:
    """Measures one scale, and keeps what is known after each step."""
    work = places.directory / "work" / scale
    for left_over in work.glob("of-*"):
        shutil.rmtree(left_over)
    load = load_at_rest()
    corpus = _corpus(scale, home, work / "home")
    all_of_them = [contender(peer, places, work, limits) for peer in peers]
    tools = [one.tool for one in all_of_them]
    for tool in tools:
        tool.covers = covered.get(tool.name, [])
    result = Result(scale, today(), machine(), corpus, tools, cold=_how_cold(), load=load)
    try:
        with Growing(work / "home", RARE) as growing:
            time.sleep(RACY_S)
            for one in all_of_them:
                _build(one)
                save(result, out)
            for step in (_search, _search_often, _append, _search_cold):
                _say("all", step.__doc__ or "")
                step([one for one in all_of_them if not one.is_out], growing, limits)
                save(result, out)
    finally:
        for one in all_of_them:
            one.stop()
    result.is_complete = True
    save(result, out)
    shutil.rmtree(work)


def _corpus(scale: str, given: Path | None, home: Path) -> Corpus:
    """Makes the home, unless an earlier run has."""
    done = home.with_name("corpus.json")
    if done.exists():
        return msgspec.json.decode(done.read_bytes(), type=Corpus)
    shutil.rmtree(home, ignore_errors=True)
    _say(scale, "making transcripts")
    turns = 0
    if given is not None:
        mirrored(given, home)
    elif scale.endswith("m"):
        turns = made(home, 0, _FILES_OF_TURNS, int(float(scale[:-1]) * 1e6)).turns
    else:
        size = int(float(scale) * 1e9)
        turns = made(home, size, max(size // _BYTES_PER_FILE, 10)).turns
    files = [path for root in ROOTS for path in (home / root).rglob("*.jsonl")]
    size = sum(path.stat().st_size for path in files)
    corpus = Corpus("transcripts", size, len(files), turns)
    done.write_bytes(msgspec.json.encode(corpus))
    return corpus


def _build(one: Contender) -> None:
    """Has it build what it keeps, if anything, and find what was planted."""
    if one.is_out:
        return
    _say(one.peer.name, "build")
    if not one.peer.is_scan:
        run = one.build()
        if run is None:
            return
        one.record("build", [run.seconds])
        one.record("build_memory", [run.peak.resident])
        one.record("build_anonymous", [run.peak.anonymous])
        one.record("disk", [bytes_in(one.home)])
    if one.peer.start:
        one.start()
    if not one.is_out:
        one.search(RARE)
    if one.peer.refresh and not one.is_out:
        runs = [one.refresh() for _ in range(_NO_OPS)]
        one.record("no_op", [run.seconds for run in runs if run is not None])


def _search(contenders: list[Contender], _growing: Growing, limits: Limits) -> None:
    """search"""
    cases = {one.peer.name: partial(one.search, RARE) for one in contenders}
    found = measure.interleaved(cases, limits.runs, limits.budget_s)
    for one in contenders:
        runs = found[one.peer.name]
        one.record("search", [run.seconds for run in runs])
        one.record("first_byte", [run.first_s for run in runs])
        # A run that ends between two samples has no peak.
        peaks = [run.peak for run in runs if run.peak.resident]
        if peaks:
            one.record("search_memory", [max(peak.resident for peak in peaks)])
            one.record("search_anonymous", [max(peak.anonymous for peak in peaks)])


def _search_often(contenders: list[Contender], _growing: Growing, limits: Limits) -> None:
    """search for a frequent word"""
    cases = {one.peer.name: partial(one.search, _COMMON, is_proven=False) for one in contenders}
    found = measure.interleaved(cases, limits.runs, limits.budget_s)
    for one in contenders:
        one.record("common", [run.seconds for run in found[one.peer.name]])


def _append(contenders: list[Contender], growing: Growing, limits: Limits) -> None:
    """search after a turn was appended, each time for another word that it has"""

    def grow() -> float:
        growing.words = f"appendedword{growing.turns}"
        growing.grow()
        return 0.0

    def look(one: Contender) -> float | None:
        # What a search does not take in by itself is taken in first, and counts.
        begun = time.monotonic()
        if one.peer.is_stale and one.refresh() is None:
            return None
        run = one.search(growing.words)
        return None if run is None else time.monotonic() - begun

    cases: dict[str, Callable[[], float | None]] = {"": grow}
    cases |= {one.peer.name: partial(look, one) for one in contenders}
    found = measure.interleaved(cases, _APPENDS, limits.budget_s)
    growing.settle()
    for one in contenders:
        one.record("appended", found[one.peer.name])
        one.settle()


def _search_cold(contenders: list[Contender], growing: Growing, limits: Limits) -> None:
    """search, nothing cached"""

    def look(one: Contender) -> measure.Run | None:
        _chill([growing.home, one.home])
        return one.search(RARE, timeout_s=limits.timeout_s)

    cases = {one.peer.name: partial(look, one) for one in contenders}
    found = measure.interleaved(cases, limits.runs, limits.budget_s)
    for one in contenders:
        one.record("cold", [run.seconds for run in found[one.peer.name]])


def _how_cold() -> str:
    if os.access(_DROP_CACHES, os.W_OK):
        return "the kernel's caches dropped before each run"
    return "the pages of transcripts and index given back before each run (posix_fadvise)"


def _chill(directories: list[Path]) -> None:
    """Has the next command read from the disk, programs and libraries too where that is allowed."""
    os.sync()
    if os.access(_DROP_CACHES, os.W_OK):
        _DROP_CACHES.write_text("3", encoding="ascii")
        return
    for path in (path for one in directories for path in one.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _say(who: str, what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {who}: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
