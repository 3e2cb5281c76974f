"""A query by meaning, side by side: what the scales `meaning` and `meaning-1m` of a comparison are.

Every run is a process of its own, as a query at a prompt is. The vectors are those of
`bench/semantic.py`; they stand in ccgrep's store, in a numpy file and in a table of sqlite-vec.
What uses sentence-transformers imports it and reads the model first; "vector given" does not.
"""

import os
import subprocess
import sys
import tempfile
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench import measure, semantic
from bench.encoder import texts
from bench.home import bytes_in
from bench.peers import Places, packaged
from bench.results import OURS, Corpus, Figure, Result, Tool, figure, load_at_rest, machine, today
from ccgrep import __version__
from ccgrep.semantic import ENVIRONMENT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_VECTORS = {"meaning": 20_000, "meaning-1m": 1_000_000}
_TEXTS = 600
_RUNS = 50
_TIMEOUT_S = 120
_BUDGET_S = 60
_MODELS = "sentence-transformers"
_MATRIX, _ONE = "all.npy", "one.npy"
_PYTHON = [sys.executable, "-c"]
_GIVEN = """
import sys
import numpy as np
vectors = np.load(sys.argv[1], mmap_mode="r")
near = vectors @ np.load(sys.argv[2])
print(np.argsort(-near)[:10])
"""
_OPEN = """
import apsw, sqlite_vec, sys
import numpy as np
db = apsw.Connection(sys.argv[1])
db.enable_load_extension(True)
db.load_extension(sqlite_vec.loadable_path())
"""
_FILL = """
vectors = np.load(sys.argv[2], mmap_mode="r")
db.execute(f"CREATE VIRTUAL TABLE near USING vec0(v float[{vectors.shape[1]}])")
with db:
    rows = ((n, one.tobytes()) for n, one in enumerate(vectors))
    db.executemany("INSERT INTO near (rowid, v) VALUES (?, ?)", rows)
"""
_MODEL = """
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[3], device="cpu", local_files_only=True)
query = model.encode([sys.argv[2]])[0]
"""
_LOAD = "query = np.load(sys.argv[2])"
_NEAREST = """
rows = db.execute("SELECT rowid FROM near WHERE v MATCH ? AND k = 10", [query.tobytes()])
print([row[0] for row in rows])
"""


class Way(NamedTuple):
    """A command that finds the ten nearest, and what the vectors occupy for it."""

    name: str
    version: str
    command: list[str]
    disk: int


def compare(scale: str, places: Places, runs: int) -> Result:
    os.environ.update({**ENVIRONMENT, "HF_HUB_OFFLINE": "1"})
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

    from ccgrep.semantic.model import find  # noqa: PLC0415 - after the environment

    number, load = _VECTORS[scale], load_at_rest()
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as directory:
        bench = semantic.Bench(Path(directory), find(None, {}), runs)
        keys = semantic.fill(bench)
        real = _embedded(bench)
        vectors = semantic.around(real, number)
        semantic.write(bench, keys, vectors)
        site = _sqlite_vec(places)
        path = os.pathsep.join([bench.environment["PYTHONPATH"], str(site)])
        environment = {**bench.environment, "PYTHONPATH": path}
        ways = [_ours(bench), *_plain(bench, vectors, real[0])]
        ways += _in_table(bench, site, environment)
        cases = {way.name: partial(_run, way, environment) for way in ways}
        found = measure.interleaved(cases, min(runs, _RUNS), _BUDGET_S)
    tools = [Tool(way.name, way.version, "", [], _figures(way, found[way.name])) for way in ways]
    corpus = Corpus("vectors", number)
    return Result(scale, today(), machine(), corpus, tools, is_complete=True, load=load)


def _embedded(bench: semantic.Bench) -> "NDArray[np.float32]":
    from ccgrep.semantic.encoder import FullEncoder  # noqa: PLC0415

    return FullEncoder(bench.model, os.cpu_count() or 1).encode(texts(_TEXTS, 4))


def _sqlite_vec(places: Places) -> Path:
    """Where sqlite-vec is, with an SQLite that may load it: that of Python often may not."""
    site = places.directory / "vec"
    if not site.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(site)]
        subprocess.run([*pip, "apsw", "sqlite-vec"], capture_output=True, check=False)
    return site


def _ours(bench: semantic.Bench) -> Way:
    disk = bytes_in(Path(bench.store_dir) / "vectors")
    return Way(f"{OURS} --semantic", __version__, bench.query, disk)


def _plain(
    bench: semantic.Bench, vectors: "NDArray[np.float32]", query: "NDArray[np.float32]"
) -> list[Way]:
    import numpy as np  # noqa: PLC0415

    matrix, given = bench.home / _MATRIX, bench.home / _ONE
    np.save(matrix, vectors)
    np.save(given, query)
    asked = [semantic.PLAIN, semantic.QUERY, bench.model.directory, str(matrix)]
    disk = matrix.stat().st_size
    return [
        Way("sentence-transformers, numpy", _of(_MODELS), [*_PYTHON, *asked], disk),
        Way("numpy, vector given", _of("numpy"), [*_PYTHON, _GIVEN, str(matrix), str(given)], disk),
    ]


def _in_table(bench: semantic.Bench, site: Path, environment: dict[str, str]) -> list[Way]:
    table, matrix, given = (bench.home / name for name in ("near.db", _MATRIX, _ONE))
    try:
        measure.run([*_PYTHON, _OPEN + _FILL, str(table), str(matrix)], environment)
    except measure.FailedError as error:
        print(f"sqlite-vec is left out: {error}", file=sys.stderr)
        return []
    disk = table.stat().st_size
    asked = [_OPEN + _MODEL + _NEAREST, str(table), semantic.QUERY, bench.model.directory]
    alone = [_OPEN + _LOAD + _NEAREST, str(table), str(given)]
    version = packaged(site, "sqlite-vec") or ""
    return [
        Way("sentence-transformers, sqlite-vec", _of(_MODELS), [*_PYTHON, *asked], disk),
        Way("sqlite-vec, vector given", version, [*_PYTHON, *alone], disk),
    ]


def _of(package: str) -> str:
    return metadata.version(package)


def _run(way: Way, environment: dict[str, str]) -> measure.Run | None:
    try:
        return measure.run(way.command, environment, _TIMEOUT_S)
    except measure.FailedError as error:
        print(f"{way.name}: {error}", file=sys.stderr)
        return None


def _figures(way: Way, runs: list[measure.Run]) -> dict[str, Figure]:
    if not runs:
        return {}
    return {
        "search": figure([run.seconds for run in runs]),
        "search_memory": figure([max(run.peak.resident for run in runs)]),
        "search_anonymous": figure([max(run.peak.anonymous for run in runs)]),
        "disk": figure([way.disk]),
    }
