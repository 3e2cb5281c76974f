"""The encoder that is opened depends on the model and on the number of texts."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ccgrep.errors import MissingModelError
from ccgrep.semantic import encoder
from ccgrep.semantic.encoder import MIN_INT8_TEXTS, LibraryEncoder, open_encoder
from ccgrep.semantic.light_encoder import LightEncoder
from tests.helpers import scale
from tests.helpers.extras import require_onnx, require_sentence_transformers
from tests.helpers.models import MODEL, assert_close, copy_model, expected, model_at, texts

SOME = [text[:400] for text in texts(40)[::4]]


@cache
def open_int8(threads: int = 1) -> LightEncoder:
    require_onnx()
    opened = open_encoder(MODEL, MIN_INT8_TEXTS, threads)
    assert opened.note is None
    assert isinstance(opened.encoder, LightEncoder)
    return opened.encoder


@pytest.fixture(scope="module")
def in_float32() -> NDArray[np.float32]:
    return LightEncoder(MODEL).encode(SOME)


def test_few_texts_are_encoded_in_float32(in_float32: NDArray[np.float32]) -> None:
    assert_close(open_encoder(MODEL, MIN_INT8_TEXTS - 1).encoder.encode(SOME), in_float32)


def test_many_texts_are_encoded_in_float32_without_onnx(
    in_float32: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder, "_INT8_LIBRARIES", ["a_library_that_is_not_installed"])
    assert_close(open_encoder(MODEL, 10**6).encoder.encode(SOME), in_float32)


def test_int8_vectors_are_close_enough_to_share_a_store_with_float32() -> None:
    """Two texts are as similar in int8 as in float32, within what separates neighbouring hits."""
    some = [text for text in texts(scale.of(40, 120)) if text.strip()]
    exact, found = LightEncoder(MODEL).encode(some), open_int8().encode(some)
    assert found.dtype == np.float32
    cosines = (exact * found).sum(axis=1)
    assert 0.99 < float(cosines.mean()) < 0.9999, "these are not int8 vectors of the same texts"
    assert float(cosines.min()) > 0.95
    assert float(np.abs(exact @ exact.T - exact @ found.T).mean()) < 0.02


def test_int8_encoder_encodes_no_texts_and_lone_surrogates() -> None:
    int8 = open_int8()
    assert int8.encode([]).shape == (0, 384)
    assert_close(int8.encode(["a \ud800 b"]), int8.encode(["a \ufffd b"]))


def test_int8_vectors_do_not_depend_on_threads() -> None:
    assert_close(open_int8(3).encode(SOME), open_int8().encode(SOME))


@pytest.mark.skipif(not scale.IS_LONG, reason="loads PyTorch once more: in `sh scripts/long`")
def test_unsupported_model_shape_uses_sentence_transformers_and_warns(tmp_path: Path) -> None:
    require_sentence_transformers()
    path = copy_model(
        tmp_path / "model",
        {
            "config.json": {"hidden_act": "relu"},
            "config_sentence_transformers.json": {
                "prompts": {"query": "find: "},
                "default_prompt_name": "query",
            },
        },
    )
    opened = open_encoder(model_at(path))
    assert opened.note == (
        f"{path} needs sentence-transformers, which takes seconds to load (its activation is relu)"
    )
    assert isinstance(opened.encoder, LibraryEncoder)
    assert_close(opened.encoder.encode(SOME), expected(path, SOME))
    assert opened.encoder.encode([]).shape == (0, 384)
    assert_close(opened.encoder.encode(["\ud800"]), opened.encoder.encode(["\ufffd"]))


def test_unsupported_model_shape_without_sentence_transformers_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_at(copy_model(tmp_path / "model", {"config.json": {"hidden_act": "relu"}}))
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingModelError, match=r"relu.*pip install sentence-transformers"):
        open_encoder(model)


OFFLINE_SCRIPT = """
import sys
reached = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        reached.append((event, arguments))
sys.addaudithook(watch)
from ccgrep.semantic.encoder import open_encoder
from ccgrep.semantic.model import find
model = find(None, {"HOME": "/nonexistent"})
encoder = open_encoder(model, texts=10_000, threads=2).encoder
assert encoder.encode(["one", "two " * 500, "three"] * 20).shape == (60, 384)
assert "torch" not in sys.modules and "onnxruntime" in sys.modules
assert not reached, reached
"""


def test_int8_encoder_prints_nothing_and_opens_no_connection(tmp_path: Path) -> None:
    require_onnx()
    run = subprocess.run(
        [sys.executable, "-c", OFFLINE_SCRIPT],
        env={
            "PYTHONPATH": os.pathsep.join(sys.path),
            "HOME": str(tmp_path),
            "PATH": os.environ["PATH"],
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
