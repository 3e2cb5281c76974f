"""Does searching by meaning keep its promises: a query, graphs, a million vectors, embedding?

python bench/semantic.py            everything; the million takes a quarter of an hour to write
python bench/semantic.py --small    without the million

The vectors are of texts that were embedded, and of points around them: as many as are asked for.
What is compared takes turns; of cold starts a figure is the median, of embedding the least.
"""

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import measure
from bench.encoder import texts
from ccgrep.semantic import ENVIRONMENT
from tests.helpers.transcripts import ClaudeFile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

QUERY = "how did we make the login test less flaky?"
_VECTORS = 20_000
_MANY = 1_000_000
_NOISE = 0.6
PLAIN = """
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
    def query(self) -> list[str]:
        # Alone: what is pending would be embedded first, and a search by words is not meant.
        return [sys.executable, "-m", "ccgrep", "--semantic", "--no-refresh", QUERY]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--small", action="store_true", help="leave out the million vectors")
    parser.add_argument("--texts", type=int, default=600, help="how many are really embedded")
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    os.environ.update({**ENVIRONMENT, "HF_HUB_OFFLINE": "1"})
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

    from ccgrep.semantic.model import find  # noqa: PLC0415 - after the environment

    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as directory:
        bench = Bench(Path(directory), find(None, {}), asked.runs)
        print(f"{bench.model.id}, {os.cpu_count()} cores")
        some = texts(asked.texts, 4)
        rates, vectors = embedding(bench.model, some, asked.runs)
        keys = fill(bench)
        cloud = around(vectors, _VECTORS)
        write(bench, keys, cloud)
        small = report_query(bench, cloud)
        report_recall(bench, cloud, vectors)
        if not asked.small:
            report_many(bench, keys, vectors, small)
        report_embedding(some, rates)


# A store.


def fill(bench: Bench) -> list[int]:
    """Turns with as many texts as there shall be vectors, not embedded; the keys of the texts."""
    rng = random.Random(1)
    words = [word for text in texts(50, 9) for word in text.split() if word.isalpha()]
    for seed in range(_VECTORS // 1000):
        file = ClaudeFile(bench.home / ".claude" / "projects" / f"-p{seed % 5}", seed)
        file.meta("custom-title", customTitle="-")
        for turn in range(500):
            said = [" ".join(rng.choices(words, k=25)) for _ in range(2)]
            file.turn(f"{seed} {turn} {said[0]}", f"{seed} {turn} {said[1]}")
        file.write()
    measure.run([sys.executable, "-m", "ccgrep", "index", "-q"], bench.environment)

    import numpy as np  # noqa: PLC0415

    from ccgrep.fulltext import generations  # noqa: PLC0415
    from ccgrep.semantic.embedding import find_pending  # noqa: PLC0415

    found = generations.current(bench.store_dir)
    assert found is not None
    reader = generations.open_reader(found.path)
    surfaces = ("prompt", "answer", "title")
    wanted = find_pending(reader, np.empty(0, np.int64), surfaces, None).texts
    return [one.key for one in wanted]


def around(vectors: "NDArray[np.float32]", number: int, seed: int = 1) -> "NDArray[np.float32]":
    """So many unit vectors in clusters around those of texts."""
    import numpy as np  # noqa: PLC0415

    rng = np.random.default_rng(seed)
    made = vectors[rng.integers(0, len(vectors), number)]
    noise = rng.normal(size=made.shape).astype(np.float32) * (_NOISE / made.shape[1] ** 0.5)
    made = made + noise
    return np.asarray(made / np.linalg.norm(made, axis=1)[:, None], np.float32)


def write(bench: Bench, keys: Sequence[int], vectors: "NDArray[np.float32]") -> None:
    from ccgrep.semantic.vector_writer import Batch, VectorWriter  # noqa: PLC0415
    from ccgrep.store.lifecycle import open_store  # noqa: PLC0415

    # Every text has one, so that none is pending.
    size = len(vectors)
    numbers = [*keys[:size], *range(1, size + 1 - len(keys))]
    writer = VectorWriter(open_store(bench.store_dir), _directory(bench))
    writer.add(Batch(numbers, [(0, 20)] * size, vectors))
    if size < len(keys):
        rest = keys[size:]
        writer.add(Batch(rest, [(0, 20)] * len(rest), vectors[: len(rest)]))


def _directory(bench: Bench) -> str:
    from ccgrep.semantic.vector_files import model_dir  # noqa: PLC0415

    return model_dir(bench.store_dir, bench.model.id)


# Figures.


def report_query(bench: Bench, vectors: "NDArray[np.float32]") -> float:
    import numpy as np  # noqa: PLC0415

    matrix = bench.home / "vectors.npy"
    np.save(matrix, vectors)
    plain = [sys.executable, "-c", PLAIN, QUERY, bench.model.directory, str(matrix)]
    found: dict[str, list[measure.Run]] = {"ccgrep": [], "plain": []}
    for _ in range(bench.runs + 1):
        found["ccgrep"].append(measure.run(bench.query, bench.environment))
        found["plain"].append(measure.run(plain, bench.environment))
    assert found["ccgrep"][0].output.count("\n") == 10, found["ccgrep"][0].output
    ours, theirs = (statistics.median(r.seconds for r in some[1:]) for some in found.values())
    peak = max((run.peak for run in found["ccgrep"]), key=lambda peak: peak.anonymous)
    print(f"a query, cold, {len(vectors):,} vectors")
    _row("sentence-transformers", _ms(theirs))
    _row("ccgrep --semantic", _ms(ours), ours / theirs, 1 / 12)
    _row("anonymous memory", str(peak), peak.anonymous / 1e6, 400)
    return ours


def report_recall(
    bench: Bench, vectors: "NDArray[np.float32]", real: "NDArray[np.float32]"
) -> None:
    """Of the ten nearest, how many a graph finds; asked with the vectors of texts."""
    from ccgrep.semantic import vectors as module  # noqa: PLC0415
    from ccgrep.semantic.vector_writer import VectorWriter  # noqa: PLC0415
    from ccgrep.semantic.vectors import Vectors  # noqa: PLC0415
    from ccgrep.store.lifecycle import open_store  # noqa: PLC0415

    VectorWriter(open_store(bench.store_dir), _directory(bench), graph_vectors=1).heal()
    found, exact = Vectors(_directory(bench)), Vectors(_directory(bench))
    queries = real[:: max(len(real) // 200, 1)]
    matched = 0
    for query in queries:
        module._MAX_WITHOUT_GRAPHS = 0
        near = found.nearest(query, 10)
        module._MAX_WITHOUT_GRAPHS = sys.maxsize
        matched += len(set(near) & set(exact.nearest(query, 10)))
    recall = matched / (10 * len(queries))
    print(f"graphs against comparing all, {len(vectors):,} vectors, {len(queries)} queries")
    _row("recall@10", f"{recall:.4f}", recall, 0.98, is_least=True)


def report_many(
    bench: Bench, keys: Sequence[int], real: "NDArray[np.float32]", small: float
) -> None:
    shutil.rmtree(_directory(bench))
    begun = time.monotonic()
    write(bench, keys, around(real, _MANY, 2))
    print(f"{_MANY:,} vectors, written in {time.monotonic() - begun:.0f} s")
    runs = [measure.run(bench.query, bench.environment) for _ in range(bench.runs + 1)][1:]
    seconds = statistics.median(run.seconds for run in runs)
    _row(f"against {_VECTORS:,}", _ms(seconds), seconds / small, 2)
    _row("anonymous memory", str(max((run.peak for run in runs), key=lambda peak: peak.anonymous)))


def embedding(
    model: Any, some: Sequence[str], runs: int
) -> "tuple[dict[str, float], NDArray[np.float32]]":
    """The least time of each way to embed texts, and their vectors."""
    import torch  # noqa: PLC0415
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415

    from ccgrep.semantic.encoder import FullEncoder  # noqa: PLC0415

    threads, usual = os.cpu_count() or 1, torch.get_num_threads()
    plain = SentenceTransformer(model.directory, device="cpu", local_files_only=True)
    full = FullEncoder(model, threads)

    def encode_plainly() -> None:
        torch.set_num_threads(usual)
        plain.encode(list(some), show_progress_bar=False)

    cases: Mapping[str, Callable[[], object]] = {
        "plain": encode_plainly,
        "bulk": lambda: full.encode(some),
    }
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(max(runs // 2, 2)):
        for name, case in cases.items():
            begun = time.monotonic()
            case()
            times[name].append(time.monotonic() - begun)
    return {name: min(seconds) for name, seconds in times.items()}, full.encode(some)


def report_embedding(some: Sequence[str], seconds: Mapping[str, float]) -> None:
    print(f"embedding {len(some)} texts")
    rate = {name: len(some) / took for name, took in seconds.items()}
    _row("SentenceTransformer.encode", f"{rate['plain']:.1f} /s")
    _row("in bulk", f"{rate['bulk']:.1f} /s", rate["bulk"] / rate["plain"], 1, is_least=True)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms"


def _row(
    what: str,
    figure: str,
    value: float | None = None,
    budget: float = 1,
    is_least: bool = False,
) -> None:
    verdict = ""
    if value is not None:
        is_kept = value >= budget if is_least else value <= budget
        limit = "at least" if is_least else "at most"
        verdict = f"{value:9.3f} of {limit} {budget:<7.3g}{'ok' if is_kept else 'OVER'}"
    print(f"  {what:<28}{figure:>24}{verdict}", flush=True)


if __name__ == "__main__":
    main()
