"""How fast is a search: against starting Python, fast-resume and ripgrep, on the same files.

python bench/search.py [HOME]         a home with .claude and .codex; made when not given
python bench/search.py --bytes 1e8    a smaller one
python bench/search.py --turns 1e6    one of so many small turns; only the search is measured

Commands take turns, and a figure is the median. A session that grows is added to HOME and taken
away at the end; fast-resume keeps its index elsewhere. It is installed for the run unless `fr` is
on the PATH or named by --fr.
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
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import msgspec

from bench import measure
from bench.generate import vocabulary
from bench.home import RACY_S, Growing, made
from bench.peers import PEERS, Places, install
from bench.text import TERMS
from ccgrep.config import Config, make_config
from ccgrep.fulltext import generations
from ccgrep.kinds import Mode
from ccgrep.ops.search import search
from ccgrep.refresh.change_detector import detect_changes
from ccgrep.search.request import Request
from ccgrep.search.searcher import SearchOptions

_LEFT_OUT = frozenset(
    ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "PYTHONDONTWRITEBYTECODE"]
)
"""Other homes; and what would have every run compile ccgrep anew, which no installed one does."""
_POLL_S = 0.02
_FREQUENT = 10
_RARE = 100


class Ratio(NamedTuple):
    value: float
    budget: float
    against: str


class Bench(NamedTuple):
    """What is measured, and with what."""

    home: Path
    store: Path
    environment: dict[str, str]
    ccgrep: list[str]
    fr: str | None
    rg: str | None
    runs: int

    @property
    def config(self) -> Config:
        return make_config(self.environment)

    @property
    def roots(self) -> list[str]:
        return [root.path for root in self.config.roots]

    def run(self, *command: str) -> str:
        """What a command prints; raises when it fails, not when it finds nothing."""
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode > 1:
            raise RuntimeError(f"{command} failed: {done.stderr}")
        return done.stdout

    def seconds(self, *command: str) -> float:
        begun = time.monotonic()
        self.run(*command)
        return time.monotonic() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("home", nargs="?", type=Path)
    parser.add_argument("--bytes", type=float, default=1e9)
    parser.add_argument("--files", type=int, help="transcripts (default: one per 200 kB, or 5000)")
    parser.add_argument("--turns", type=float, help="so many small turns; search alone")
    parser.add_argument("--runs", type=int, default=15, help="of each command (default 15)")
    parser.add_argument("--fr", type=Path, help="fast-resume: its fr, or a venv that has it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as name:
        scratch = Path(name)
        home = arguments.home or _made(scratch / "home", arguments)
        fr = _fast_resume(arguments.fr, scratch / "peers")
        bench = _bench(home.absolute(), scratch, fr, arguments.runs)
        with Growing(bench.home) as growing:
            time.sleep(RACY_S)
            if arguments.turns:
                _index_all(bench)
                report_search(bench, growing, 2)
            else:
                report_build(bench)
                report_refresh(bench)
                report_search(bench, growing, 1)


def _made(home: Path, arguments: argparse.Namespace) -> Path:
    files = arguments.files or (
        5000 if arguments.turns else max(int(arguments.bytes / 200_000), 10)
    )
    turns = int(arguments.turns) if arguments.turns else None
    print(made(home, int(arguments.bytes), files, turns))
    return home


def _fast_resume(given: Path | None, directory: Path) -> str | None:
    """The program `fr`; installed into `directory` when it is nowhere."""
    if given is not None:
        return shutil.which(given / "bin" / "fr" if given.is_dir() else given)
    if found := shutil.which("fr"):
        return found
    places = Places(directory)
    install(places, [peer for peer in PEERS if peer.name == "fast-resume"])
    return shutil.which("fr", path=places.path)


def _bench(home: Path, scratch: Path, fr: str | None, runs: int) -> Bench:
    environment = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    environment |= {
        "HOME": str(home),
        "CCGREP_DIR": str(scratch / "store"),
        "CCGREP_EMBED": "never",
        "XDG_CACHE_HOME": str(scratch / "cache"),
    }
    script = Path(sys.executable).parent / "ccgrep"
    ccgrep = [str(script)] if script.exists() else [sys.executable, "-m", "ccgrep"]
    return Bench(home, scratch / "store", environment, ccgrep, fr, shutil.which("rg"), runs)


# The first build.


def report_build(bench: Bench) -> None:
    paths = _transcripts(bench)
    size = sum(os.stat(path).st_size for path in paths)
    print(f"{len(paths):,} files, {size / 1e6:,.0f} MB")
    _decode_seconds(paths)  # for warmth
    decode, rebuild = [_decode_seconds(paths)], [*_rebuild_seconds(bench)]
    build, first, said = _build(bench)
    decode, rebuild = [*decode, _decode_seconds(paths)], [*rebuild, *_rebuild_seconds(bench)]
    stored = sum(path.stat().st_size for path in bench.store.rglob("*") if path.is_file())

    # Before and after: what else the machine does hits what is compared alike.
    once = statistics.mean(decode)
    _row("decode every line once", f"{once:.2f} s")
    ratios = []
    if rebuild:
        rebuilt = statistics.mean(rebuild)
        _row("fr --rebuild", f"{rebuilt:.2f} s")
        ratios = [Ratio(said / rebuilt, 3, "fr --rebuild")]
    else:
        _row("fr --rebuild", "not found")
    _row("some discussion is searchable", f"{first:.2f} s")
    _row("all discussion is searchable", f"{said:.2f} s", *ratios)
    _row("index", f"{build.seconds:.2f} s", Ratio(build.seconds / once, 8, "decode"))
    ratio = Ratio(build.peak.anonymous / 400e6, 1, "400 MB")
    _row("index, anonymous memory", str(build.peak), ratio)
    _row("store", f"{stored / 1e6:.1f} MB", Ratio(stored / size, 0.15, "transcripts"))


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
    begun = time.monotonic()
    for path in paths:
        with open(path, "rb") as file:
            for line in file:
                with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
                    decode(line)
    return time.monotonic() - begun


def _rebuild_seconds(bench: Bench) -> Iterator[float]:
    if bench.fr:
        yield bench.seconds(bench.fr, "--rebuild", "--list", "--limit", "1")


def _build(bench: Bench) -> tuple[measure.Run, float, float]:
    """A first build, when some of the discussion became searchable, and when all of it was."""
    times: dict[tuple[str, int], float] = {}
    is_done = threading.Event()
    begun = time.monotonic()

    def watch() -> None:
        while not is_done.wait(_POLL_S):
            if found := generations.current(str(bench.store)):
                changed = os.stat(os.path.join(found.path, "SYNCED")).st_mtime_ns
                times.setdefault((found.level, changed), time.monotonic() - begun)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        run = measure.run([*bench.ccgrep, "index", "-q"], bench.environment)
    finally:
        is_done.set()
        watcher.join()
    said = [seconds for (level, _), seconds in times.items() if level == "discussion"]
    said = said or list(times.values()) or [run.seconds]
    return run, min(said), max(said)


def _index_all(bench: Bench) -> None:
    bench.run(*bench.ccgrep, "index", "-q")
    list(_rebuild_seconds(bench))


# Nothing changed.


def report_refresh(bench: Bench) -> None:
    paths = _transcripts(bench)
    config = bench.config

    def stat() -> float:
        begun = time.monotonic()
        for path in paths:
            os.stat(path)
        return time.monotonic() - begun

    def check() -> float:
        begun = time.monotonic()
        changed = detect_changes(config.store_dir, bench.roots)
        seconds = time.monotonic() - begun
        assert changed == [], f"the home is not at rest: {changed}"
        return seconds

    found = medians({"stat": stat, "check": check}, bench.runs)
    _row("stat of every file", _ms(found["stat"]))
    _row("freshness check", _ms(found["check"]), Ratio(found["check"] / found["stat"], 3, "stat"))


# Searches.


def report_search(bench: Bench, growing: Growing, slack: float) -> None:
    """Searches of all kinds; `slack` is by how much a larger store may be slower."""
    words, literal = _words(bench), _literal(bench)
    growing.words = words
    cases = _cases(bench, growing, words, literal)
    found = medians(cases, bench.runs)
    python, plain, fresh = found["python"], found["plain"], found["fresh"]

    print(f"{words!r}, and exactly {literal!r}")
    _row("python -c pass", _ms(python))
    _row("ccgrep --no-refresh", _ms(plain), Ratio(plain / python, 5 * slack, "python"))
    against = []
    for name, shown, budget in (("fr", "fr --list", 1.0), ("rg", "rg -uuu -l", 0.25)):
        if name in found:
            _row(shown, _ms(found[name]))
            against.append(Ratio(fresh / found[name], budget * slack, shown))
        else:
            _row(shown, "not found")
    _row("ccgrep", _ms(fresh), *against)
    _row(
        "ccgrep, one turn appended", _ms(found["grown"]), Ratio(found["grown"] / fresh, 2, "fresh")
    )
    if "fr grown" in found:
        _row("fr --list, one turn appended", _ms(found["fr grown"]))
    for name in ("-F", "-E"):
        alike = Ratio(found[f"{name} fresh"] / fresh, 2, "ccgrep")
        _row(f"ccgrep {name}", _ms(found[f"{name} fresh"]), alike)
        alike = Ratio(found[name] / plain, 2, "ccgrep --no-refresh")
        _row(f"ccgrep --no-refresh {name}", _ms(found[name]), alike)
    _row("  -F, a frequent word, 10 hits", _ms(found["frequent"]))


def _cases(
    bench: Bench, growing: Growing, words: str, literal: str
) -> Mapping[str, Callable[[], float]]:
    """What is timed, in this order; the session that grows comes last and settles."""
    ccgrep = bench.ccgrep
    plain = (*ccgrep, "--no-refresh")

    def grown() -> float:
        growing.grow()
        begun = time.monotonic()
        output = bench.run(*ccgrep, words)
        seconds = time.monotonic() - begun
        assert growing.is_last_in(output), f"the turn that was appended is not in:\n{output}"
        return seconds

    cases: dict[str, Callable[[], float]] = {
        "python": lambda: bench.seconds(sys.executable, "-c", "pass"),
        "plain": lambda: bench.seconds(*plain, words),
        "fresh": lambda: bench.seconds(*ccgrep, words),
        "-F": lambda: bench.seconds(*plain, "-F", literal),
        "-E": lambda: bench.seconds(*plain, "-E", rf"{literal}\w*"),
        "-F fresh": lambda: bench.seconds(*ccgrep, "-F", literal),
        "-E fresh": lambda: bench.seconds(*ccgrep, "-E", rf"{literal}\w*"),
        "frequent": lambda: bench.seconds(*plain, "-F", "-n", "10", words.partition(" ")[0]),
    }
    fr, rg = bench.fr, bench.rg
    if fr:
        cases["fr"] = lambda: bench.seconds(fr, "--list", words)
    if rg:
        cases["rg"] = lambda: bench.seconds(rg, "-uuu", "-l", words, *bench.roots)
    cases["grown"] = grown
    if fr:
        cases["fr grown"] = lambda: bench.seconds(fr, "--list", words)
    cases["settled"] = lambda: _settle(bench, growing)
    return cases


def _settle(bench: Bench, growing: Growing) -> float:
    growing.settle()
    if bench.fr:
        bench.run(bench.fr, "--list", "--limit", "1")
    return bench.seconds(*bench.ccgrep, "index", "-q")


def medians(cases: Mapping[str, Callable[[], float]], runs: int) -> dict[str, float]:
    found = measure.interleaved(cases, runs)
    return {name: statistics.median(seconds) for name, seconds in found.items()}


def _words(bench: Bench) -> str:
    """Two words that were said in several turns, the rarest of the frequent ones first."""
    rank = {word: number for number, word in enumerate(vocabulary())}
    terms = sorted(TERMS, key=lambda word: rank[word], reverse=True)
    pairs = [f"{one} {other}" for one, other in pairwise(terms)]
    return next((pair for pair in pairs if _hits(bench, pair, "words") >= _FREQUENT), pairs[0])


def _literal(bench: Bench) -> str:
    """A word that is in a few turns, as what is looked for exactly usually is."""
    rare = [word for word in vocabulary()[600::150] if word.isascii() and len(word) > 4]
    words = [*rare, *(word for word in TERMS if len(word) > 4)]
    hits = {word: _hits(bench, word, "literal") for word in words[:40]}
    few = [word for word, number in hits.items() if _FREQUENT <= number <= _RARE]
    return few[0] if few else max(hits, key=lambda word: hits[word])


def _hits(bench: Bench, text: str, mode: Mode) -> int:
    request = Request((text,), mode, limit=0)
    answer = search(bench.config, request, SearchOptions()).answer
    return len(answer.hits) if answer.tier != "most" else 0


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def _row(what: str, figure: str, *ratios: Ratio) -> None:
    verdicts = [
        f"{one.value:8.2f} of at most {one.budget:<5g}"
        f"{'ok' if one.value <= one.budget else 'OVER':<5} {one.against}"
        for one in ratios
    ]
    print(f"  {what:<32}{figure:>24}{verdicts[0] if verdicts else ''}".rstrip())
    for verdict in verdicts[1:]:
        print(f"  {'':<56}{verdict}")


if __name__ == "__main__":
    main()
