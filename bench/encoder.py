"""How fast is a text turned into a vector: against sentence-transformers, with the same model.

python bench/encoder.py                a query from a cold start, then many texts
python bench/encoder.py --texts 2000   more of them

Both take turns in the same run. Of cold starts a figure is the median; of many texts the least,
since a computer that is busy otherwise only ever adds to it.
"""

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import measure
from bench.text import Scribe
from ccgrep.semantic import ENVIRONMENT

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
    asked = parser.parse_args()
    os.environ.update({**ENVIRONMENT, "HF_HUB_OFFLINE": "1"})
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

    from ccgrep.semantic.model import find  # noqa: PLC0415 - after the environment

    model = find(None, {})
    print(f"{model.id} from {model.source}, {os.cpu_count()} cores")
    report_query(model.directory, asked.runs)
    report_bulk(model, texts(asked.texts, asked.seed), asked.runs)


def report_query(directory: str, runs: int) -> None:
    source = str(Path(__file__).parents[1] / "src")
    environment = {**os.environ, "PYTHONPATH": source}
    commands = {
        "python": ["-c", "pass"],
        "numpy": ["-c", "import numpy"],
        "light": ["-c", _LIGHT, _QUERY],
        "plain": ["-c", _PLAIN, _QUERY, directory],
    }
    found: dict[str, list[measure.Run]] = {name: [] for name in commands}
    for _ in range(runs + 1):
        for name, command in commands.items():
            found[name].append(measure.run([sys.executable, *command], environment))
    seconds = {name: statistics.median(r.seconds for r in some[1:]) for name, some in found.items()}
    peak = max((run.peak for run in found["light"]), key=lambda peak: peak.anonymous)

    print("one query, cold")
    _row("python -c pass", _ms(seconds["python"]))
    _row("import numpy", _ms(seconds["numpy"]))
    _row("sentence-transformers", _ms(seconds["plain"]))
    _row("light", _ms(seconds["light"]), seconds["light"] / seconds["plain"], 1 / 12)
    _row("light, anonymous memory", str(peak), peak.anonymous / 400e6, 1)


def report_bulk(model: Any, some: Sequence[str], runs: int) -> None:
    import torch  # noqa: PLC0415 - after the cold starts
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415

    from ccgrep.semantic.encoder import FullEncoder  # noqa: PLC0415
    from ccgrep.semantic.light_encoder import LightEncoder  # noqa: PLC0415

    threads, usual = os.cpu_count() or 1, torch.get_num_threads()
    plain = SentenceTransformer(model.directory, device="cpu", local_files_only=True)
    full, light = FullEncoder(model, threads), LightEncoder(model, threads)

    def encode_plainly() -> None:
        torch.set_num_threads(usual)  # the others change it
        plain.encode(list(some), show_progress_bar=False)

    found = _least(
        {
            "plain": encode_plainly,
            "full": lambda: full.encode(some),
            "light": lambda: light.encode(some),
        },
        runs,
    )
    chars = sum(map(len, some)) / len(some)
    print(f"{len(some)} texts of {chars:.0f} characters on average")
    _row("SentenceTransformer.encode", _rate(some, found["plain"]))
    _row("in bulk", _rate(some, found["full"]), found["full"] / found["plain"], 1)
    _row("light", _rate(some, found["light"]), found["light"] / found["plain"], 1)


def _least(cases: Mapping[str, Callable[[], object]], runs: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(runs):
        for name, case in cases.items():
            begun = time.monotonic()
            case()
            times[name].append(time.monotonic() - begun)
    return {name: min(seconds) for name, seconds in times.items()}


def texts(number: int, seed: int) -> list[str]:
    """Prompts and answers: most are short, some longer than the model takes."""
    rng = random.Random(seed)
    scribe = Scribe(rng, "bench")
    made = []
    for _ in range(number):
        size = scribe.size(300, 1.0, 3000)
        made.append(scribe.markdown(size) if rng.random() < 0.5 else scribe.prose(size))
    return made


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms"


def _rate(some: Sequence[str], seconds: float) -> str:
    return f"{len(some) / seconds:.1f} /s"


def _row(what: str, figure: str, ratio: float | None = None, budget: float = 1) -> None:
    verdict = ""
    if ratio is not None:
        verdict = f"{ratio:8.3f} of at most {budget:<7.3g}{'ok' if ratio <= budget else 'OVER'}"
    print(f"  {what:<32}{figure:>24}{verdict}")


if __name__ == "__main__":
    main()
