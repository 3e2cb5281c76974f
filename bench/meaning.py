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
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench import measure, semantic
from bench.encoder import texts
from bench.home import bytes_in
from bench.peers import Places
from bench.results import OURS, Corpus, Figure, Result, Tool, figure, machine, today
from ccgrep import __version__
from ccgrep.embed import ENVIRONMENT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_VECTORS = {"meaning": 20_000, "meaning-1m": 1_000_000}
_TEXTS = 600
_RUNS = 10
_TIMEOUT_S = 120
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
_NEAREST = """
rows = db.execute("SELECT rowid FROM near WHERE v MATCH ? AND k = 10", [query.tobytes()])
print([row[0] for row in rows])
"""


class Way(NamedTuple):
    name: str
    version: str
    answers: str
    command: list[str]
    disk: int


def compare(scale: str, places: Places, runs: int) -> Result:
    os.environ.update({**ENVIRONMENT, "HF_HUB_OFFLINE": "1"})
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

    from ccgrep.embed.model import find  # noqa: PLC0415 - after the environment

    number = _VECTORS[scale]
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as directory:
        bench = semantic.Bench(Path(directory), find(None, {}), runs)
        keys = semantic.fill(bench)
        real = _embedded(bench)
        cloud = semantic.around(real, number)
        semantic.write(bench, keys, cloud)
        environment = {**bench.environment, "PYTHONPATH": _python_path(bench, places)}
        ways = _ways(bench, cloud, real[0], environment)
        cases = {way.name: partial(_run, way, environment) for way in ways}
        found = measure.interleaved(cases, min(runs, _RUNS), _TIMEOUT_S)
    tools = [
        Tool(way.name, way.version, way.answers, figures=_figures(way, found[way.name]))
        for way in ways
    ]
    corpus = Corpus("vectors", number)
    return Result(scale, today(), machine(), corpus, tools, is_complete=True)


def _embedded(bench: semantic.Bench) -> "NDArray[np.float32]":
    from ccgrep.embed.bulk import FullEncoder  # noqa: PLC0415

    return FullEncoder(bench.model, os.cpu_count() or 1).encode(texts(_TEXTS, 4))


def _python_path(bench: semantic.Bench, places: Places) -> str:
    """Where sqlite-vec is, and an SQLite that may load it."""
    target = places.directory / "vec"
    if not target.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target)]
        subprocess.run([*pip, "apsw", "sqlite-vec"], capture_output=True, check=False)
    return os.pathsep.join([bench.environment["PYTHONPATH"], str(target)])


def _ways(
    bench: semantic.Bench,
    vectors: "NDArray[np.float32]",
    query: "NDArray[np.float32]",
    environment: dict[str, str],
) -> list[Way]:
    import numpy as np  # noqa: PLC0415

    matrix, given, table = (bench.home / name for name in ("all.npy", "one.npy", "near.db"))
    np.save(matrix, vectors)
    np.save(given, query)
    python = [sys.executable, "-c"]
    asked = [semantic.QUERY, bench.model.directory]
    ours = Way(
        f"{OURS} --semantic",
        __version__,
        "the model without torch, vectors mapped; prints turns with snippets",
        bench.query,
        bytes_in(Path(bench.store_dir) / "vectors"),
    )
    plain = [
        Way(
            "sentence-transformers, numpy",
            _version("sentence-transformers"),
            "compares all; prints numbers",
            [*python, semantic.PLAIN, *asked, str(matrix)],
            matrix.stat().st_size,
        ),
        Way(
            "numpy, vector given",
            _version("numpy"),
            "compares all; prints numbers",
            [*python, _GIVEN, str(matrix), str(given)],
            matrix.stat().st_size,
        ),
    ]
    try:
        measure.run([*python, _OPEN + _FILL, str(table), str(matrix)], environment)
    except measure.FailedError as error:
        print(f"sqlite-vec is left out: {error}", file=sys.stderr)
        return [ours, *plain]
    size = table.stat().st_size
    loads = "query = np.load(sys.argv[2])"
    return [
        ours,
        *plain,
        Way(
            "sentence-transformers, sqlite-vec",
            _version("sentence-transformers"),
            "compares all; prints numbers",
            [*python, _OPEN + _MODEL + _NEAREST, str(table), *asked],
            size,
        ),
        Way(
            "sqlite-vec, vector given",
            "0.1",
            "compares all; prints numbers",
            [*python, _OPEN + loads + _NEAREST, str(table), str(given)],
            size,
        ),
    ]


def _version(package: str) -> str:
    from importlib.metadata import version  # noqa: PLC0415

    return version(package)


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
        "search_memory": figure([max(run.peak_bytes for run in runs)]),
        "disk": figure([way.disk]),
    }
