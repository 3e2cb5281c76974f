"""Measures semantic and hybrid search: a query, recall of graphs, many vectors, and embedding.

python bench/semantic.py            everything; writing a million vectors takes 15 minutes
python bench/semantic.py --small    without the million vectors

The vectors are those of some embedded texts, and random points around them. Commands that are
compared take turns. Figures of cold starts are medians, those of embedding are the least processor
time.
"""

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import measure
from bench.budget import Ratio, milliseconds, print_memory, print_row
from bench.encoder import BulkTimes, make_texts, time_bulk_encoders
from ccgrep.semantic import ENVIRONMENT
from tests.helpers.transcripts import ClaudeFile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

QUERY = "how did we make the login test less flaky?"
_VECTORS = 20_000
_HYBRID_VECTORS = 75_000
_MANY_VECTORS = 1_000_000
_NOISE = 0.6
_MAX_MB = 400
_MAX_HYBRID_MB = 250
NUMPY_SEARCH = """
import sys
import numpy as np
from sentence_transformers import SentenceTransformer
vectors = np.load(sys.argv[3], mmap_mode="r")
model = SentenceTransformer(sys.argv[2], device="cpu", local_files_only=True)
near = vectors @ model.encode([sys.argv[1]])[0]
print(np.argsort(-near)[:10])
"""


class Bench(NamedTuple):
    home: Path
    model: Any
    runs: int

    @property
    def environment(self) -> dict[str, str]:
        kept = {"PATH": os.environ["PATH"], **ENVIRONMENT, "HF_HUB_OFFLINE": "1"}
        source = str(Path(__file__).parents[1] / "src")
        return {**kept, "HOME": str(self.home), "PYTHONPATH": source, "CCGREP_EMBED": "never"}

    @property
    def store_dir(self) -> str:
        return str(self.home / ".local" / "share" / "ccgrep")

    @property
    def command(self) -> list[str]:
        return self.command_of("--semantic")

    def command_of(self, mode: str) -> list[str]:
        # A refresh would embed pending texts first.
        return [sys.executable, "-m", "ccgrep", mode, "--no-refresh", QUERY]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--small", action="store_true", help="skip the million vectors")
    parser.add_argument("--texts", type=int, default=600, help="number of texts to embed")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    os.environ.update({**ENVIRONMENT, "HF_HUB_OFFLINE": "1"})
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

    from ccgrep.semantic.model import find  # noqa: PLC0415 - after the environment

    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as directory:
        bench = Bench(Path(directory), find(None, {}), arguments.runs)
        print(f"{bench.model.id}, {os.cpu_count()} cores")
        texts = make_texts(arguments.texts, 4)
        encoders = time_bulk_encoders(bench.model, texts, max(arguments.runs // 2, 2))
        vectors = encoders.vectors
        keys = make_store(bench)
        cloud = make_vectors(vectors, _VECTORS)
        write_vectors(bench, keys, cloud)
        small = report_query(bench, cloud)
        report_recall(bench, cloud, vectors)
        report_hybrid(bench, keys, vectors)
        if not arguments.small:
            report_many(bench, keys, vectors, small)
        report_embedding(texts, encoders)


# Set-up.


def make_store(bench: Bench) -> list[int]:
    """Ingest turns with `_VECTORS` texts, without embedding them. Return the keys of the texts."""
    rng = random.Random(1)
    words = [word for text in make_texts(50, 9) for word in text.split() if word.isalpha()]
    for seed in range(_VECTORS // 1000):
        file = ClaudeFile(bench.home / ".claude" / "projects" / f"-p{seed % 5}", seed)
        file.meta("custom-title", customTitle="-")
        for turn in range(500):
            parts = [" ".join(rng.choices(words, k=25)) for _ in range(2)]
            file.turn(f"{seed} {turn} {parts[0]}", f"{seed} {turn} {parts[1]}")
        file.write()
    measure.run([sys.executable, "-m", "ccgrep", "index", "-q"], bench.environment)

    import numpy as np  # noqa: PLC0415

    from ccgrep.fulltext import generations  # noqa: PLC0415
    from ccgrep.semantic.embedding import find_pending  # noqa: PLC0415

    generation = generations.current(bench.store_dir)
    assert generation is not None
    reader = generations.open_reader(generation.path)
    surfaces = ("prompt", "answer", "title")
    texts = find_pending(reader, np.empty(0, np.int64), surfaces, None).texts
    return [text.key for text in texts]


def make_vectors(
    vectors: "NDArray[np.float32]", number: int, seed: int = 1
) -> "NDArray[np.float32]":
    """Return unit vectors in clusters around the given ones."""
    import numpy as np  # noqa: PLC0415

    rng = np.random.default_rng(seed)
    centres = vectors[rng.integers(0, len(vectors), number)]
    noise = rng.normal(size=centres.shape).astype(np.float32) * (_NOISE / centres.shape[1] ** 0.5)
    points = centres + noise
    return np.asarray(points / np.linalg.norm(points, axis=1)[:, None], np.float32)


def write_vectors(bench: Bench, keys: Sequence[int], vectors: "NDArray[np.float32]") -> None:
    from ccgrep.semantic.vector_writer import Batch, VectorWriter  # noqa: PLC0415
    from ccgrep.store.lifecycle import open_store  # noqa: PLC0415

    # Every text gets a vector, so no text is pending.
    size = len(vectors)
    numbers = [*keys[:size], *range(1, size + 1 - len(keys))]
    writer = VectorWriter(open_store(bench.store_dir), _vectors_dir(bench))
    writer.add(Batch(numbers, [(0, 20)] * size, vectors))
    if size < len(keys):
        rest = keys[size:]
        writer.add(Batch(rest, [(0, 20)] * len(rest), vectors[: len(rest)]))


def _vectors_dir(bench: Bench) -> str:
    from ccgrep.semantic.vector_files import model_dir  # noqa: PLC0415

    return model_dir(bench.store_dir, bench.model.id)


# Figures.


def report_query(bench: Bench, vectors: "NDArray[np.float32]") -> float:
    import numpy as np  # noqa: PLC0415

    matrix = bench.home / "vectors.npy"
    np.save(matrix, vectors)
    numpy_search = [sys.executable, "-c", NUMPY_SEARCH, QUERY, bench.model.directory, str(matrix)]
    runs: dict[str, list[measure.Run]] = {"ccgrep": [], "numpy": []}
    for _ in range(bench.runs + 1):
        runs["ccgrep"].append(measure.run(bench.command, bench.environment))
        runs["numpy"].append(measure.run(numpy_search, bench.environment))
    assert runs["ccgrep"][0].output.count("\n") == 10, runs["ccgrep"][0].output
    ours, theirs = (statistics.median(run.seconds for run in own[1:]) for own in runs.values())
    print(f"a query, cold, {len(vectors):,} vectors")
    print_row("sentence-transformers", milliseconds(theirs))
    print_row("ccgrep --semantic", milliseconds(ours), Ratio(ours / theirs, 1 / 12, "the above"))
    print_memory("anonymous memory", _highest(runs["ccgrep"]), _MAX_MB)
    return ours


def report_recall(
    bench: Bench, vectors: "NDArray[np.float32]", real: "NDArray[np.float32]"
) -> None:
    """Report how many of the ten nearest vectors a graph finds, for the vectors of texts."""
    from ccgrep.semantic import vectors as module  # noqa: PLC0415
    from ccgrep.semantic.vector_writer import VectorWriter  # noqa: PLC0415
    from ccgrep.semantic.vectors import Vectors  # noqa: PLC0415
    from ccgrep.store.lifecycle import open_store  # noqa: PLC0415

    VectorWriter(open_store(bench.store_dir), _vectors_dir(bench), graph_vectors=1).heal()
    approximate, exact = Vectors(_vectors_dir(bench)), Vectors(_vectors_dir(bench))
    queries = real[:: max(len(real) // 200, 1)]
    matched = 0
    for query in queries:
        module.MAX_WITHOUT_GRAPHS = 0
        near = approximate.nearest(query, 10)
        module.MAX_WITHOUT_GRAPHS = sys.maxsize
        matched += len(set(near) & set(exact.nearest(query, 10)))
    recall = matched / (10 * len(queries))
    print(f"graphs against exact search, {len(vectors):,} vectors, {len(queries)} queries")
    print_row("recall@10", f"{recall:.4f}", Ratio(recall, 0.98, "exact search", is_minimum=True))


def report_hybrid(bench: Bench, keys: Sequence[int], real: "NDArray[np.float32]") -> None:
    shutil.rmtree(_vectors_dir(bench))
    write_vectors(bench, keys, make_vectors(real, _HYBRID_VECTORS, 3))
    commands = {mode: bench.command_of(mode) for mode in ("--words", "--hybrid")}
    runs: dict[str, list[measure.Run]] = {mode: [] for mode in commands}
    for _ in range(bench.runs + 1):
        for mode, command in commands.items():
            runs[mode].append(measure.run(command, bench.environment))
    words, hybrid = (statistics.median(run.seconds for run in own[1:]) for own in runs.values())
    print(f"a hybrid search, cold, {_HYBRID_VECTORS:,} vectors")
    print_row("ccgrep --words", milliseconds(words))
    print_row("ccgrep --hybrid", milliseconds(hybrid), Ratio(hybrid / words, 6, "the above"))
    print_memory("anonymous memory", _highest(runs["--hybrid"][1:]), _MAX_HYBRID_MB)


def report_many(
    bench: Bench, keys: Sequence[int], real: "NDArray[np.float32]", small: float
) -> None:
    shutil.rmtree(_vectors_dir(bench))
    started = time.monotonic()
    write_vectors(bench, keys, make_vectors(real, _MANY_VECTORS, 2))
    print(f"{_MANY_VECTORS:,} vectors, written in {time.monotonic() - started:.0f} s")
    runs = [measure.run(bench.command, bench.environment) for _ in range(bench.runs + 1)][1:]
    seconds = statistics.median(run.seconds for run in runs)
    ratio = Ratio(seconds / small, 2, f"{_VECTORS:,} vectors")
    print_row("ccgrep --semantic", milliseconds(seconds), ratio)
    print_memory("anonymous memory", _highest(runs), _MAX_MB)


def _highest(runs: Sequence[measure.Run]) -> measure.Memory:
    return max((run.peak for run in runs), key=lambda peak: peak.anonymous)


def report_embedding(texts: Sequence[str], encoders: BulkTimes) -> None:
    print(f"embedding {len(texts)} texts, processor time")
    print_row("SentenceTransformer.encode", f"{encoders.plain_s / len(texts) * 1000:.1f} ms each")
    ratio = Ratio(encoders.int8_s / encoders.plain_s, 1, "the above")
    print_row("int8", f"{encoders.int8_s / len(texts) * 1000:.1f} ms each", ratio)


if __name__ == "__main__":
    main()
