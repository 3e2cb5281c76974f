"""Measures build, change detection and searches against Python, fast-resume and ripgrep.

python bench/search.py [HOME]         a home with .claude and .codex (default: a generated one)
python bench/search.py --bytes 1e8    a smaller generated home
python bench/search.py --turns 1e6    a home of many small turns; measures searches only
python bench/search.py --baseline OTHER/.venv/bin/ccgrep    also against another version

Commands take turns, and figures are medians. A growing session is added to HOME and removed at the
end. fast-resume is installed for the run, unless `fr` is on the PATH or --fr names it. Its index
is kept elsewhere.
"""

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import msgspec

from bench import measure
from bench.budget import Ratio, milliseconds, print_memory, print_row
from bench.generate import vocabulary
from bench.home import GrowingSession, generate_home
from bench.peers import PEERS, InstallDir, install
from bench.text import TERMS
from ccgrep.config import Config, make_config
from ccgrep.fulltext import generations
from ccgrep.kinds import Mode
from ccgrep.ops.search import search
from ccgrep.refresh.change_detector import detect_changes
from ccgrep.search.request import Request
from ccgrep.search.searcher import SearchOptions

Seconds = Mapping[str, float]
"""Medians or means by the name of a command."""

_UNSET = frozenset(["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "PYTHONDONTWRITEBYTECODE"])
"""Variables that name other homes, or make every run compile ccgrep, unlike an installed one."""
_POLL_S = 0.02
_MIN_HITS, _MAX_HITS = 10, 100
_FR_REBUILD = ("--rebuild", "--list", "--limit", "1")


class Bench(NamedTuple):
    """A home, a store and the commands to measure."""

    home: Path
    store: Path
    environment: dict[str, str]
    ccgrep: list[str]
    fr: str | None
    rg: str | None
    runs: int
    baseline: "Bench | None" = None

    @property
    def config(self) -> Config:
        return make_config(self.environment)

    @property
    def roots(self) -> list[str]:
        return [root.path for root in self.config.roots]

    def run(self, *command: str) -> str:
        """Return the output of a command. Finding nothing (exit status 1) is no error."""
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode > 1:
            raise RuntimeError(f"{command} failed: {done.stderr}")
        return done.stdout

    def seconds(self, *command: str) -> float:
        started = time.monotonic()
        self.run(*command)
        return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("home", nargs="?", type=Path)
    parser.add_argument("--bytes", type=float, default=1e9)
    parser.add_argument("--files", type=int, help="transcripts (default: one per 200 kB, or 5000)")
    parser.add_argument("--turns", type=float, help="generate small turns; measure searches only")
    parser.add_argument("--runs", type=int, default=15, help="runs of each command (default 15)")
    parser.add_argument("--fr", type=Path, help="the program fr of fast-resume, or its venv")
    parser.add_argument("--baseline", type=Path, help="the program of another version of ccgrep")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as name:
        scratch = Path(name)
        home = arguments.home or _generate(scratch / "home", arguments)
        fr = _find_fast_resume(arguments.fr, scratch / "peers")
        bench = _make_bench(home.absolute(), scratch, fr, arguments.runs, arguments.baseline)
        with GrowingSession(bench.home) as session:
            if arguments.turns:
                _index_all(bench)
                report_search(bench, session, 2)
            else:
                report_build(bench)
                report_change_detection(bench)
                report_search(bench, session, 1)


def _generate(home: Path, arguments: argparse.Namespace) -> Path:
    files = arguments.files or (
        5000 if arguments.turns else max(int(arguments.bytes / 200_000), 10)
    )
    turns = int(arguments.turns) if arguments.turns else None
    print(generate_home(home, int(arguments.bytes), files, turns))
    return home


def _find_fast_resume(path: Path | None, directory: Path) -> str | None:
    """Return the program `fr`. Install it into `directory` if it is missing."""
    if path is not None:
        return shutil.which(path / "bin" / "fr" if path.is_dir() else path)
    if installed := shutil.which("fr"):
        return installed
    install_dir = InstallDir(directory)
    install(install_dir, [peer for peer in PEERS if peer.name == "fast-resume"])
    return shutil.which("fr", path=install_dir.path)


def _make_bench(
    home: Path, scratch: Path, fr: str | None, runs: int, baseline: Path | None
) -> Bench:
    environment = {name: value for name, value in os.environ.items() if name not in _UNSET}
    environment |= {
        "HOME": str(home),
        "CCGREP_DIR": str(scratch / "store"),
        "CCGREP_EMBED": "never",
        "XDG_CACHE_HOME": str(scratch / "cache"),
    }
    script = Path(sys.executable).parent / "ccgrep"
    ccgrep = [str(script)] if script.exists() else [sys.executable, "-m", "ccgrep"]
    bench = Bench(home, scratch / "store", environment, ccgrep, fr, shutil.which("rg"), runs)
    if baseline is None:
        return bench
    store = scratch / "baseline"
    other_environment = {**environment, "CCGREP_DIR": str(store)}
    other = [str(baseline.absolute())]
    return bench._replace(baseline=Bench(home, store, other_environment, other, None, None, runs))


# The first build.


def report_build(bench: Bench) -> None:
    paths = _transcripts(bench)
    size = sum(os.stat(path).st_size for path in paths)
    print(f"{len(paths):,} files, {size / 1e6:,.0f} MB")
    _decode_seconds(paths)  # warms the cache
    # Before and after the build, so other load on the machine affects both sides alike.
    references = [_reference_seconds(bench, paths)]
    one_core = _build_on_one_core(bench)
    build, first, discussion = _build(bench)
    references.append(_reference_seconds(bench, paths))
    stored = sum(path.stat().st_size for path in bench.store.rglob("*") if path.is_file())

    seconds = {
        name: statistics.mean(reference[name] for reference in references) for name in references[0]
    }
    for name, mean in seconds.items():
        print_row(name, f"{mean:.2f} s")
    print_row("some discussion is searchable", f"{first:.2f} s")
    ratios = _ratios(discussion, seconds, {"fr --rebuild": 3})
    print_row("all discussion is searchable", f"{discussion:.2f} s", *ratios)
    ratios = _ratios(build.seconds, seconds, {"decode every line once": 8, "baseline index": 1})
    if one_core is not None:
        print_row("index on one core", f"{one_core:.2f} s")
        ratios.append(Ratio(build.seconds / one_core, 0.6, "index on one core"))
    print_row("index", f"{build.seconds:.2f} s", *ratios)
    print_memory("index, anonymous memory", build.peak, 400)
    print_row("store", f"{stored / 1e6:.1f} MB", Ratio(stored / size, 0.15, "transcripts"))


def _ratios(value: float, references: Seconds, limits: Mapping[str, float]) -> list[Ratio]:
    """Return the ratio of a value to each reference that was measured."""
    return [
        Ratio(value / references[name], limit, name)
        for name, limit in limits.items()
        if name in references
    ]


def _reference_seconds(bench: Bench, paths: Iterable[str]) -> dict[str, float]:
    seconds = {"decode every line once": _decode_seconds(paths)}
    if bench.fr:
        seconds["fr --rebuild"] = bench.seconds(bench.fr, *_FR_REBUILD)
    if other := bench.baseline:
        shutil.rmtree(other.store, ignore_errors=True)
        seconds["baseline index"] = other.seconds(*other.ccgrep, "index", "-q")
    return seconds


def _transcripts(bench: Bench) -> list[str]:
    return [
        os.path.join(folder, name)
        for root in bench.roots
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith(".jsonl")
    ]


def _decode_seconds(paths: Iterable[str]) -> float:
    decode = msgspec.json.Decoder().decode
    started = time.monotonic()
    for path in paths:
        with open(path, "rb") as file:
            for line in file:
                with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
                    decode(line)
    return time.monotonic() - started


def _build(bench: Bench) -> tuple[measure.Run, float, float]:
    """Build, and return when some and when all of the discussion became searchable."""
    times: dict[tuple[str, int], float] = {}
    is_done = threading.Event()
    started = time.monotonic()

    def watch() -> None:
        while not is_done.wait(_POLL_S):
            if generation := generations.current(str(bench.store)):
                changed = os.stat(os.path.join(generation.path, "SYNCED")).st_mtime_ns
                times.setdefault((generation.level, changed), time.monotonic() - started)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        run = measure.run([*bench.ccgrep, "index", "-q"], bench.environment)
    finally:
        is_done.set()
        watcher.join()
    discussion = [seconds for (level, _), seconds in times.items() if level == "discussion"]
    discussion = discussion or list(times.values()) or [run.seconds]
    return run, min(discussion), max(discussion)


def _build_on_one_core(bench: Bench) -> float | None:
    """Return how long a build takes on one core, or None if there is no other to compare with."""
    if sys.platform != "linux" or len(os.sched_getaffinity(0)) == 1:
        return None
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        return measure.run([*bench.ccgrep, "index", "-q"], bench.environment).seconds
    finally:
        os.sched_setaffinity(0, cores)
        shutil.rmtree(bench.store, ignore_errors=True)


def _index_all(bench: Bench) -> None:
    bench.run(*bench.ccgrep, "index", "-q")
    if bench.fr:
        bench.run(bench.fr, *_FR_REBUILD)
    if bench.baseline:
        _index_all(bench.baseline)


# Change detection with nothing new.


def report_change_detection(bench: Bench) -> None:
    paths = _transcripts(bench)
    config = bench.config

    def stat() -> float:
        started = time.monotonic()
        for path in paths:
            os.stat(path)
        return time.monotonic() - started

    def detect() -> float:
        started = time.monotonic()
        changed = detect_changes(config.store_dir, bench.roots)
        seconds = time.monotonic() - started
        assert changed == [], f"transcripts change during the benchmark: {changed}"
        return seconds

    seconds = medians({"stat": stat, "detect": detect}, bench.runs)
    print_row("stat of every file", milliseconds(seconds["stat"]))
    ratio = Ratio(seconds["detect"] / seconds["stat"], 3, "stat")
    print_row("change detection", milliseconds(seconds["detect"]), ratio)


# Searches.


def report_search(bench: Bench, session: GrowingSession, slack: float) -> None:
    """Report all kinds of searches. `slack` is how much slower a larger store may be."""
    words, literal = _choose_words(bench), _choose_literal(bench)
    session.words = words
    seconds = medians(_cases(bench, session, words, literal), bench.runs)

    print(f"query {words!r}, literal {literal!r}")
    budgets: dict[str, dict[str, float]] = {
        "python -c pass": {},
        "fr --list": {},
        "rg -uuu -l": {},
        "baseline --no-refresh": {},
        "baseline": {},
        "ccgrep --no-refresh": {"python -c pass": 5 * slack, "baseline --no-refresh": 1.15},
        "ccgrep": {"fr --list": slack, "rg -uuu -l": 0.25 * slack, "baseline": 1.15},
        "baseline, one turn appended": {},
        "ccgrep, one turn appended": {"ccgrep": 2.5},
        "fr --list, one turn appended": {},
        "ccgrep -F": {"ccgrep": 2},
        "ccgrep -E": {"ccgrep": 2},
        "ccgrep --no-refresh -F": {"ccgrep --no-refresh": 2},
        "ccgrep --no-refresh -E": {"ccgrep --no-refresh": 2},
        "ccgrep -F, a frequent word": {},
    }
    for name, limits in budgets.items():
        if name in seconds:
            ratios = _ratios(seconds[name], seconds, limits)
            print_row(name, milliseconds(seconds[name]), *ratios)
        elif not name.startswith("baseline"):
            print_row(name, "not installed")


def _cases(
    bench: Bench, session: GrowingSession, words: str, literal: str
) -> Mapping[str, Callable[[], float]]:
    """Return the commands to time, in order. After the session grew, the last one settles it."""
    pattern = rf"{literal}\w*"
    fr, rg, other = bench.fr, bench.rg, bench.baseline
    cases = {"python -c pass": partial(bench.seconds, sys.executable, "-c", "pass")}
    searches = {
        "ccgrep": [words],
        "ccgrep --no-refresh": ["--no-refresh", words],
        "ccgrep --no-refresh -F": ["--no-refresh", "-F", literal],
        "ccgrep --no-refresh -E": ["--no-refresh", "-E", pattern],
        "ccgrep -F": ["-F", literal],
        "ccgrep -E": ["-E", pattern],
        "ccgrep -F, a frequent word": [
            "--no-refresh", "-F", "-n", "10", words.partition(" ")[0],
        ],
    }  # fmt: skip
    for name, arguments in searches.items():
        cases[name] = partial(bench.seconds, *bench.ccgrep, *arguments)
    if other:
        cases["baseline"] = partial(other.seconds, *other.ccgrep, words)
        cases["baseline --no-refresh"] = partial(
            other.seconds, *other.ccgrep, "--no-refresh", words
        )
    if fr:
        cases["fr --list"] = partial(bench.seconds, fr, "--list", words)
    if rg:
        cases["rg -uuu -l"] = partial(bench.seconds, rg, "-uuu", "-l", words, *bench.roots)
    cases["ccgrep, one turn appended"] = partial(_append_and_search, bench, session)
    if other:
        cases["baseline, one turn appended"] = partial(other.seconds, *other.ccgrep, words)
    if fr:
        cases["fr --list, one turn appended"] = partial(bench.seconds, fr, "--list", words)
    cases["settle"] = partial(_settle, bench, session)
    return cases


def _append_and_search(bench: Bench, session: GrowingSession) -> float:
    session.append_turn()
    started = time.monotonic()
    output = bench.run(*bench.ccgrep, session.words)
    seconds = time.monotonic() - started
    assert session.is_last_turn_in(output), f"the appended turn is missing in:\n{output}"
    return seconds


def _settle(bench: Bench, session: GrowingSession) -> float:
    session.settle()
    if bench.fr:
        bench.run(bench.fr, "--list", "--limit", "1")
    if bench.baseline:
        _settle(bench.baseline, session)
    return bench.seconds(*bench.ccgrep, "index", "-q")


def medians(cases: Mapping[str, Callable[[], float]], runs: int) -> dict[str, float]:
    seconds = measure.run_interleaved(cases, runs)
    return {name: statistics.median(values) for name, values in seconds.items()}


def _choose_words(bench: Bench) -> str:
    """Return two words that occur together in several turns, rare ones if possible."""
    rank = {word: number for number, word in enumerate(vocabulary())}
    terms = sorted(TERMS, key=lambda word: rank[word], reverse=True)
    pairs = [f"{first} {second}" for first, second in pairwise(terms)]
    return next(
        (pair for pair in pairs if _count_hits(bench, pair, "words") >= _MIN_HITS), pairs[0]
    )


def _choose_literal(bench: Bench) -> str:
    """Return a word that occurs in a few turns, as most literals that people search for."""
    rare = [word for word in vocabulary()[600::150] if word.isascii() and len(word) > 4]
    words = [*rare, *(word for word in TERMS if len(word) > 4)]
    hits = {word: _count_hits(bench, word, "literal") for word in words[:40]}
    few = [word for word, number in hits.items() if _MIN_HITS <= number <= _MAX_HITS]
    return few[0] if few else max(hits, key=lambda word: hits[word])


def _count_hits(bench: Bench, text: str, mode: Mode) -> int:
    request = Request((text,), mode, limit=0)
    answer = search(bench.config, request, SearchOptions()).answer
    return len(answer.hits) if answer.tier != "most" else 0


if __name__ == "__main__":
    main()
