"""Measures the encoders against sentence-transformers with the same model.

python bench/encoder.py                a query from a cold start, then many texts
python bench/encoder.py --texts 2000   more texts

The encoders take turns. Figures of cold starts are medians. Those of many texts are the least
processor time, since other load on the machine can only slow them down.
"""

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import measure
from bench.budget import Ratio, milliseconds, print_memory, print_row
from bench.text import TextWriter
from ccgrep.semantic import ENVIRONMENT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_QUERY = "how did we make the login test less flaky?"
_LIGHT = """
import sys
from ccgrep.semantic.encoder import open_encoder
from ccgrep.semantic.model import find
vector = open_encoder(find(None, {})).encoder.encode([sys.argv[1]])
assert vector.shape == (1, 384) and "torch" not in sys.modules
"""
_PLAIN = """
import sys
from sentence_transformers import SentenceTransformer
vector = SentenceTransformer(sys.argv[2], device="cpu", local_files_only=True).encode([sys.argv[1]])
assert vector.shape == (1, 384)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=4)
    arguments = parser.parse_args()
    os.environ.update({**ENVIRONMENT, "HF_HUB_OFFLINE": "1"})
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

    from ccgrep.semantic.model import find  # noqa: PLC0415 - after the environment

    model = find(None, {})
    print(f"{model.id} from {model.source}, {os.cpu_count()} cores")
    report_query(model.directory, arguments.runs)
    report_bulk(model, make_texts(arguments.texts, arguments.seed), arguments.runs)


def report_query(directory: str, runs: int) -> None:
    source = str(Path(__file__).parents[1] / "src")
    environment = {**os.environ, "PYTHONPATH": source}
    commands = {
        "python": ["-c", "pass"],
        "numpy": ["-c", "import numpy"],
        "light": ["-c", _LIGHT, _QUERY],
        "plain": ["-c", _PLAIN, _QUERY, directory],
    }
    cases = {
        name: partial(measure.run, [sys.executable, *command], environment)
        for name, command in commands.items()
    }
    runs_by_name = measure.run_interleaved(cases, runs)
    seconds = {
        name: statistics.median(run.seconds for run in own) for name, own in runs_by_name.items()
    }
    peak = max((run.peak for run in runs_by_name["light"]), key=lambda peak: peak.anonymous)

    print("one query, cold")
    print_row("python -c pass", milliseconds(seconds["python"]))
    print_row("import numpy", milliseconds(seconds["numpy"]))
    print_row("sentence-transformers", milliseconds(seconds["plain"]))
    ratio = Ratio(seconds["light"] / seconds["plain"], 1 / 12, "the above")
    print_row("light", milliseconds(seconds["light"]), ratio)
    print_memory("light, anonymous memory", peak, 400)


class BulkTimes(NamedTuple):
    """The least processor time of each encoder for all texts, and the vectors of the texts."""

    plain_s: float
    int8_s: float
    float_s: float
    vectors: "NDArray[np.float32]"


def report_bulk(model: Any, texts: Sequence[str], runs: int) -> None:
    times = time_bulk_encoders(model, texts, runs)
    print(f"{len(texts)} texts of {sum(map(len, texts)) / len(texts):.0f} characters on average")
    per_text = f"{times.plain_s / len(texts) * 1000:.1f} ms"
    print_row("SentenceTransformer.encode", per_text)
    for name, seconds, limit in (("int8", times.int8_s, 1), ("float32", times.float_s, 2)):
        ratio = Ratio(seconds / times.plain_s, limit, "the first")
        print_row(name, f"{seconds / len(texts) * 1000:.1f} ms", ratio)


def time_bulk_encoders(model: Any, texts: Sequence[str], runs: int) -> BulkTimes:
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - after cold starts

    from ccgrep.semantic.light_encoder import LightEncoder  # noqa: PLC0415

    threads = os.cpu_count() or 1
    plain = SentenceTransformer(model.directory, device="cpu", local_files_only=True)
    int8, light = LightEncoder(model, threads, is_int8=True), LightEncoder(model, threads)
    cases: list[Callable[[], object]] = [
        lambda: plain.encode(list(texts), show_progress_bar=False),
        lambda: int8.encode(texts),
        lambda: light.encode(texts),
    ]
    rounds = [[_processor_seconds(case) for case in cases] for _ in range(runs)]
    plain_s, int8_s, float_s = map(min, zip(*rounds, strict=True))
    return BulkTimes(plain_s, int8_s, float_s, light.encode(texts))


def _processor_seconds(case: Callable[[], object]) -> float:
    started = time.process_time()
    case()
    return time.process_time() - started


def make_texts(number: int, seed: int) -> list[str]:
    """Generate prompts and answers: most are short, some exceed the limit of the model."""
    rng = random.Random(seed)
    writer = TextWriter(rng, "bench")
    texts = []
    for _ in range(number):
        size = writer.size(300, 1.0, 3000)
        texts.append(writer.markdown(size) if rng.random() < 0.5 else writer.prose(size))
    return texts


if __name__ == "__main__":
    main()
