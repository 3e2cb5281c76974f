"""Compares semantic search with other ways: the scales `meaning` and `meaning-1m` of a comparison.

Every run is a process of its own, like a search in a terminal. The vectors are those of
`bench/semantic.py`, in ccgrep's store, in a numpy file and in a table of sqlite-vec. Ways with
sentence-transformers load the model first. The ways called "vector given" do not.
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
from bench.encoder import make_texts
from bench.home import disk_usage
from bench.peers import InstallDir, package_version
from bench.results import OURS, Corpus, Figure, Result, Tool, describe_machine, make_figure, today
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
_TRANSFORMERS = "sentence-transformers"
_MATRIX, _QUERY_VECTOR = "all.npy", "one.npy"
_PYTHON = [sys.executable, "-c"]
_NUMPY_SEARCH = """
import sys
import numpy as np
vectors = np.load(sys.argv[1], mmap_mode="r")
near = vectors @ np.load(sys.argv[2])
print(np.argsort(-near)[:10])
"""
_OPEN_TABLE = """
import apsw, sqlite_vec, sys
import numpy as np
db = apsw.Connection(sys.argv[1])
db.enable_load_extension(True)
db.load_extension(sqlite_vec.loadable_path())
"""
_FILL_TABLE = """
vectors = np.load(sys.argv[2], mmap_mode="r")
db.execute(f"CREATE VIRTUAL TABLE near USING vec0(v float[{vectors.shape[1]}])")
with db:
    rows = ((n, vector.tobytes()) for n, vector in enumerate(vectors))
    db.executemany("INSERT INTO near (rowid, v) VALUES (?, ?)", rows)
"""
_ENCODE_QUERY = """
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[3], device="cpu", local_files_only=True)
query = model.encode([sys.argv[2]])[0]
"""
_LOAD_QUERY = "query = np.load(sys.argv[2])"
_TABLE_SEARCH = """
rows = db.execute("SELECT rowid FROM near WHERE v MATCH ? AND k = 10", [query.tobytes()])
print([row[0] for row in rows])
"""


class Way(NamedTuple):
    """A command that finds the ten nearest vectors, and the disk space that it needs."""

    name: str
    version: str
    command: list[str]
    disk: int


def compare(scale: str, install_dir: InstallDir, runs: int, load: float) -> Result:
    os.environ.update({**ENVIRONMENT, "HF_HUB_OFFLINE": "1"})
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

    from ccgrep.semantic.model import find  # noqa: PLC0415 - after the environment

    number = _VECTORS[scale]
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as directory:
        bench = semantic.Bench(Path(directory), find(None, {}), runs)
        keys = semantic.make_store(bench)
        real = _embed_texts(bench)
        vectors = semantic.make_vectors(real, number)
        semantic.write_vectors(bench, keys, vectors)
        site = _install_sqlite_vec(install_dir)
        path = os.pathsep.join([bench.environment["PYTHONPATH"], str(site)])
        environment = {**bench.environment, "PYTHONPATH": path}
        ways = [_ccgrep(bench), *_numpy(bench, vectors, real[0])]
        ways += _sqlite_vec(bench, site, environment)
        cases = {way.name: partial(_run, way, environment) for way in ways}
        results = measure.run_interleaved(cases, min(runs, _RUNS), _BUDGET_S)
    tools = [Tool(way.name, way.version, "", [], _figures(way, results[way.name])) for way in ways]
    corpus = Corpus("vectors", number)
    return Result(scale, today(), describe_machine(), corpus, tools, is_complete=True, load=load)


def _embed_texts(bench: semantic.Bench) -> "NDArray[np.float32]":
    from ccgrep.semantic.light_encoder import LightEncoder  # noqa: PLC0415

    return LightEncoder(bench.model, os.cpu_count() or 1).encode(make_texts(_TEXTS, 4))


def _install_sqlite_vec(install_dir: InstallDir) -> Path:
    """Install sqlite-vec with apsw, because Python's own SQLite often cannot load extensions."""
    site = install_dir.directory / "vec"
    if not site.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(site)]
        subprocess.run([*pip, "apsw", "sqlite-vec"], capture_output=True, check=False)
    return site


def _ccgrep(bench: semantic.Bench) -> Way:
    disk = disk_usage(Path(bench.store_dir) / "vectors")
    return Way(f"{OURS} --semantic", __version__, bench.command, disk)


def _numpy(
    bench: semantic.Bench, vectors: "NDArray[np.float32]", query: "NDArray[np.float32]"
) -> list[Way]:
    import numpy as np  # noqa: PLC0415

    matrix, query_path = bench.home / _MATRIX, bench.home / _QUERY_VECTOR
    np.save(matrix, vectors)
    np.save(query_path, query)
    with_model = [semantic.NUMPY_SEARCH, semantic.QUERY, bench.model.directory, str(matrix)]
    disk = matrix.stat().st_size
    return [
        Way(
            "sentence-transformers, numpy",
            metadata.version(_TRANSFORMERS),
            [*_PYTHON, *with_model],
            disk,
        ),
        Way(
            "numpy, vector given",
            metadata.version("numpy"),
            [*_PYTHON, _NUMPY_SEARCH, str(matrix), str(query_path)],
            disk,
        ),
    ]


def _sqlite_vec(bench: semantic.Bench, site: Path, environment: dict[str, str]) -> list[Way]:
    table, matrix, query_path = (bench.home / name for name in ("near.db", _MATRIX, _QUERY_VECTOR))
    try:
        measure.run([*_PYTHON, _OPEN_TABLE + _FILL_TABLE, str(table), str(matrix)], environment)
    except measure.FailedError as error:
        print(f"sqlite-vec is skipped: {error}", file=sys.stderr)
        return []
    disk = table.stat().st_size
    with_model = [
        _OPEN_TABLE + _ENCODE_QUERY + _TABLE_SEARCH,
        str(table),
        semantic.QUERY,
        bench.model.directory,
    ]
    vector_given = [_OPEN_TABLE + _LOAD_QUERY + _TABLE_SEARCH, str(table), str(query_path)]
    version = package_version(site, "sqlite-vec") or ""
    return [
        Way(
            "sentence-transformers, sqlite-vec",
            metadata.version(_TRANSFORMERS),
            [*_PYTHON, *with_model],
            disk,
        ),
        Way("sqlite-vec, vector given", version, [*_PYTHON, *vector_given], disk),
    ]


def _run(way: Way, environment: dict[str, str]) -> measure.Run | None:
    try:
        return measure.run(way.command, environment, _TIMEOUT_S)
    except measure.FailedError as error:
        print(f"{way.name}: {error}", file=sys.stderr)
        return None


def _figures(way: Way, runs: list[measure.Run]) -> dict[str, Figure]:
    if not runs:
        return {}
    figures = {
        "search": make_figure([run.seconds for run in runs]),
        "disk": make_figure([way.disk]),
    }
    if peaks := [run.peak for run in runs if run.peak.resident]:
        figures["search_memory"] = make_figure([max(peak.resident for peak in peaks)])
        figures["search_anonymous"] = make_figure([max(peak.anonymous for peak in peaks)])
    return figures
