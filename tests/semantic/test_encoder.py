"""The full encoder returns the vectors of sentence-transformers, offline and silently."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ccgrep.errors import MissingModelError
from ccgrep.semantic import encoder
from ccgrep.semantic.encoder import MIN_FULL_TEXTS, FullEncoder, open_encoder
from ccgrep.semantic.light_encoder import LightEncoder
from tests.helpers.extras import require_sentence_transformers
from tests.helpers.models import MODEL, assert_close, copy_model, expected, model_at, texts

SOME = [text[:400] for text in texts(40)[::2]]


@pytest.fixture(autouse=True)
def long_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute with float32, also on processors that have bfloat16."""
    monkeypatch.setattr(encoder, "_has_short_floats", lambda: False)


def test_short_floats_change_vectors_by_less_than_a_hundredth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    require_sentence_transformers()
    monkeypatch.setattr(encoder, "_has_short_floats", lambda: True)
    found = FullEncoder(MODEL, threads=2).encode(SOME)
    assert found.dtype == np.float32
    assert 0 < float(np.abs(found - expected(MODEL.directory, SOME)).max()) < 0.01


def test_many_texts_are_encoded_by_sentence_transformers() -> None:
    require_sentence_transformers()
    opened = open_encoder(MODEL, texts=MIN_FULL_TEXTS, threads=2)
    assert isinstance(opened.encoder, FullEncoder)
    assert opened.note is None
    assert_close(opened.encoder.encode(SOME), expected(MODEL.directory, SOME))
    assert opened.encoder.encode([]).shape == (0, 384)
    assert_close(opened.encoder.encode(["\ud800"]), opened.encoder.encode(["\ufffd"]))


def test_few_texts_are_encoded_by_the_light_encoder() -> None:
    assert isinstance(open_encoder(MODEL, texts=MIN_FULL_TEXTS - 1).encoder, LightEncoder)


def test_light_encoder_is_used_without_sentence_transformers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(encoder, "_LIBRARIES", ["a_library_that_is_not_installed"])
    assert isinstance(open_encoder(MODEL, texts=10**6).encoder, LightEncoder)


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
    opened = open_encoder(model_at(path), threads=2)
    assert opened.note == (
        f"{path} needs sentence-transformers, which takes seconds to load (its activation is relu)"
    )
    assert_close(opened.encoder.encode(SOME), expected(path, SOME))


def test_unsupported_model_shape_without_sentence_transformers_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_at(copy_model(tmp_path / "model", {"config.json": {"hidden_act": "relu"}}))
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingModelError, match=r"needs sentence-transformers: pip install"):
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
assert "torch" in sys.modules
assert not reached, reached
"""


def test_full_encoder_prints_nothing_and_opens_no_connection(tmp_path: Path) -> None:
    require_sentence_transformers()
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
