"""Copies of the real model with a changed configuration, and the library that must agree.

The weights are links, not copies. Importing this module skips tests if there is no model.
"""

import json
import os
import random
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgrep.semantic.model import Model, find
from tests.helpers.extras import require_model, require_sentence_transformers

require_model()
MODEL = find(None, {"HOME": "/nonexistent"})
"""The bundled model, whatever models the user's caches hold."""


def copy_model(target: Path, changes: Mapping[str, Any] | None = None) -> Path:
    """Make a model directory; `changes` are merged into its JSON files, or replace them."""
    source = Path(MODEL.directory)
    for path in source.rglob("*"):
        if path.is_file() and path.name != "README.md":
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.symlink_to(path)
    for name, change in (changes or {}).items():
        path = target / name
        old = json.loads(path.read_text()) if path.exists() else {}
        path.unlink(missing_ok=True)
        path.write_text(json.dumps({**old, **change} if isinstance(change, dict) else change))
    return target


def model_at(path: Path) -> Model:
    return find(str(path), {})


@cache
def _library(directory: str) -> Any:
    require_sentence_transformers()
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - takes seconds

    return SentenceTransformer(directory, device="cpu", local_files_only=True)


def expected(directory: str | os.PathLike[str], texts: Sequence[str]) -> NDArray[np.float32]:
    """Return what sentence-transformers computes with the model in a directory."""
    vectors: NDArray[np.float32] = _library(os.fspath(directory)).encode(
        list(texts), show_progress_bar=False
    )
    return vectors


def assert_close(one: NDArray[np.float32], other: NDArray[np.float32]) -> None:
    """Assert equality within float32 rounding, which differs between processors and BLAS builds.

    They sum in another order. The smallest wrong setting changes a number by more than 1e-3.
    """
    assert one.shape == other.shape
    assert one.dtype == np.float32
    assert float(np.abs(one - other).max()) < 1e-4


_WORDS = (
    "fix the flaky login test in src/auth/session.ts please camelCaseName snake_case_name 3.12 "
    "--no-verify HTTPServer naïve Ärger ÉCOLE İstanbul ß ﬁ ½ Привет мир γειά שלום مرحبا हिन्दी "
    "日本語 中文 한국어 カタカナ 🎉 👩‍👩‍👧 🇩🇪 e\u0301 \u200b \u00ad \ufeff "
    "\u202e \x00 \x1b[31m \x7f \t \n [MASK] [SEP] ##ing "
    "supercalifragilisticexpialidocious 0xDEADBEEF {'a': [1, 2]} => != <div> && C:\\x"
).split(" ")
_EDGES = (
    "", " ", "\n\t ", "a", "\x00\x01\x02", "[CLS] [SEP]", "字" * 700, "a" * 5000, "word " * 3000,
    "def f(x):\n    return x**2\n" * 60, "🎉" * 300, "한국어 " * 200, "\ufffd",
    "{\"key\": [1, 2, 3], \"other\": null}", "1" * 99, "1" * 100, "1" * 101, "x " * 253, "x " * 254,
    "x " * 255, "x " * 256,
)  # fmt: skip


def texts(number: int) -> list[str]:
    """Return texts of all kinds and lengths, always the same ones."""
    chance = random.Random(4)
    random_texts = [
        " ".join(chance.choices(_WORDS, k=min(chance.randint(1, 30) ** 3 // 250 + 1, 90)))
        for _ in range(number - len(_EDGES))
    ]
    return [*_EDGES, *random_texts][:number]
