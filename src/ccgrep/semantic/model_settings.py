"""Read from a model's configuration files how it turns a text into a vector.

The files are those of sentence-transformers. `modules.json` lists the steps, and each step has a
folder with its configuration. Missing files and keys have that library's defaults. The light
encoder supports one shape of model: BERT, then pooling, then perhaps normalisation.
`why_not_light` names the difference of any other model.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ccgrep.errors import DamagedModelError, ModelError
from ccgrep.text import one_line

REINSTALL = "reinstall the model, or choose another with --model"
_CHOOSE_ANOTHER = "choose another model with --model"
_MAX_CONFIG_BYTES = 4 * 1024 * 1024
_LEGACY_POOLING = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_SENTENCE_CONFIGS = tuple(
    f"sentence_{kind}_config.json"
    for kind in "bert roberta distilbert camembert albert xlm-roberta xlnet".split()
)
_LIGHT_POOLING = frozenset(["cls", "max", "mean"])
_LIGHT_MODULES = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
_SPECIAL_TOKENS = 2
_NO_LIMIT = 10**9
"""Tokenizers without a limit have a larger number."""


class Bert(NamedTuple):
    """The sizes of a BERT-shaped transformer."""

    layers: int
    heads: int
    hidden: int
    intermediate: int
    positions: int
    epsilon: float


class Normaliser(NamedTuple):
    """The first step of a BertTokenizer. Its configuration overrides tokenizer.json."""

    is_lower_case: bool
    strips_accents: bool | None
    splits_chinese: bool


class Settings(NamedTuple):
    folder: str  # with the transformer
    other_folders: tuple[str, ...]
    dimensions: int
    max_tokens: int  # with special tokens
    pooling: str
    is_normalised: bool
    is_lower_case: bool  # before the tokenizer
    normaliser: Normaliser | None
    prompt: str  # before every text that is embedded
    bert: Bert | None  # None if the light encoder does not support the model
    why_not_light: str
    query_prompt: str = ""  # before a query

    @property
    def identity(self) -> str:
        """Everything that determines the vector of a text, except weights and vocabulary."""
        parts = (
            self.dimensions, self.max_tokens, self.pooling, self.is_normalised,
            self.is_lower_case, self.normaliser and tuple(self.normaliser), self.prompt,
            self.bert and tuple(self.bert),
        )  # fmt: skip
        return repr(parts)


def read_settings(directory: str, known_prompts: tuple[str, str] = ("", "")) -> Settings:
    """Return the settings of the model in a directory of sentence-transformers' layout.

    `known_prompts` are those for a query and for a text, in case the configuration has none.
    """
    modules = _modules(directory)
    folder = modules[0][1]
    config = _read_config(directory, folder, "config.json")
    if not config:
        raise DamagedModelError(f"{one_line(directory)} has no config.json: {_CHOOSE_ANOTHER}")
    if not os.path.isfile(os.path.join(directory, folder, "tokenizer.json")):
        raise ModelError(
            f"{one_line(directory)} has no tokenizer.json: {_CHOOSE_ANOTHER}, or save this one "
            "with a current version of sentence-transformers"
        )
    sentence = _sentence_config(directory, folder)
    tokenizer = _read_config(directory, folder, "tokenizer_config.json")
    pooling = _pooling(directory, modules)
    configured = _prompts(directory)
    query_prompt, prompt = configured if any(configured) else known_prompts
    why_not = _why_not_light(directory, modules, config, sentence, pooling, prompt)
    bert = None if why_not else _bert(directory, config)
    dimensions = _dimensions(directory, modules, config, pooling)
    if bert and bert.hidden != dimensions:
        raise _damage_error(os.path.join(directory, "1_Pooling", "config.json"))
    return Settings(
        folder,
        tuple(path for _, path in modules[1:] if path != folder),
        dimensions,
        _max_tokens(config, sentence, tokenizer),
        "+".join(_modes(pooling)),
        "Normalize" in [kind for kind, _ in modules],
        sentence.get("do_lower_case") is True,
        _normaliser(tokenizer),
        prompt,
        bert,
        why_not,
        query_prompt,
    )


def _modules(directory: str) -> list[tuple[str, str]]:
    """Return kind and folder of each module. The default is a transformer with mean pooling."""
    path = os.path.join(directory, "modules.json")
    listed = _read_json(path)
    if listed is None:
        return [("Transformer", ""), ("Pooling", "")]
    modules = []
    for module in listed if isinstance(listed, list) else []:
        fields = module if isinstance(module, dict) else {}
        kind, folder = fields.get("type"), fields.get("path")
        if not isinstance(kind, str) or not isinstance(folder, str) or not _is_inside(folder):
            raise _damage_error(path)
        modules.append((kind.rpartition(".")[2], folder))
    if not modules:
        raise _damage_error(path)
    return modules


def _is_inside(path: str) -> bool:
    return not os.path.isabs(path) and ".." not in path.split("/")


def _sentence_config(directory: str, folder: str) -> Mapping[str, Any]:
    """Return the limits, an empty mapping for a bare transformer without a list of modules."""
    if not os.path.isfile(os.path.join(directory, "modules.json")):
        return {}
    configs = (_read_config(directory, folder, name) for name in _SENTENCE_CONFIGS)
    return next(filter(None, configs), {})


def _pooling(directory: str, modules: Sequence[tuple[str, str]]) -> Mapping[str, Any]:
    folder = next((path for kind, path in modules if kind == "Pooling" and path), None)
    return {} if folder is None else _read_config(directory, folder, "config.json")


def _modes(pooling: Mapping[str, Any]) -> list[str]:
    """Return how the vectors of the tokens become one. Several results are concatenated."""
    modes = pooling.get("pooling_mode")
    if modes is None:
        modes = [mode for key, mode in _LEGACY_POOLING.items() if pooling.get(key)]
    listed = modes if isinstance(modes, list) else [modes]
    return [str(mode) for mode in listed] or ["mean"]


def _prompts(directory: str) -> tuple[str, str]:
    """Return what the model expects before a query and before a text, by the library's names."""
    config = _read_config(directory, "config_sentence_transformers.json")
    listed = config.get("prompts")
    prompts = listed if isinstance(listed, dict) else {}
    default = config.get("default_prompt_name")

    def choose(*names: object) -> str:
        found = (prompts.get(name) for name in names if isinstance(name, str))
        return next((prompt for prompt in found if isinstance(prompt, str)), "")

    return choose("query", default), choose("document", "passage", "corpus", default)


def _dimensions(
    directory: str,
    modules: Sequence[tuple[str, str]],
    config: Mapping[str, Any],
    pooling: Mapping[str, Any],
) -> int:
    """Return the length of the vectors, which the last module with one determines."""
    hidden = config.get("hidden_size") or config.get("d_model") or config.get("dim")
    width = pooling.get("embedding_dimension") or pooling.get("word_embedding_dimension") or hidden
    length = width * len(_modes(pooling)) if isinstance(width, int) else None
    for kind, folder in modules:
        if kind == "Dense":
            length = _read_config(directory, folder, "config.json").get("out_features")
    cut = _read_config(directory, "config_sentence_transformers.json").get("truncate_dim")
    if not isinstance(length, int) or not 0 < length <= 65_536:
        raise ModelError(
            f"the configuration of {one_line(directory)} has no vector length: {_CHOOSE_ANOTHER}"
        )
    return min(length, cut) if isinstance(cut, int) and cut > 0 else length


def _max_tokens(
    config: Mapping[str, Any], sentence: Mapping[str, Any], tokenizer: Mapping[str, Any]
) -> int:
    """Return the configured limit or the tokenizer's, at most the number of positions."""
    limits = [sentence.get("max_seq_length") or tokenizer.get("model_max_length")]
    if config.get("model_type") != "xlnet":
        limits.append(config.get("max_position_embeddings"))
    known = [limit for limit in limits if isinstance(limit, int) and limit < _NO_LIMIT]
    if not known or min(known) <= _SPECIAL_TOKENS:
        raise ModelError(f"the model's configuration has no length limit: {_CHOOSE_ANOTHER}")
    return min(known)


def _normaliser(tokenizer: Mapping[str, Any]) -> Normaliser | None:
    if tokenizer.get("tokenizer_class") not in ("BertTokenizer", "BertTokenizerFast"):
        return None
    strips = tokenizer.get("strip_accents")
    return Normaliser(
        tokenizer.get("do_lower_case", True) is True,
        strips if isinstance(strips, bool) else None,
        tokenizer.get("tokenize_chinese_chars", True) is True,
    )


def _why_not_light(
    directory: str,
    modules: Sequence[tuple[str, str]],
    config: Mapping[str, Any],
    sentence: Mapping[str, Any],
    pooling: Mapping[str, Any],
    prompt: str,
) -> str:
    """Return why the light encoder does not support a model, empty if it does."""
    kinds, modes = [kind for kind, _ in modules], _modes(pooling)
    weights = os.path.join(directory, modules[0][1], "model.safetensors")
    positions = config.get("position_embedding_type", "absolute")
    number = config.get("dtype", config.get("torch_dtype"))
    task = sentence.get("transformer_task", "feature-extraction")
    reasons = {
        f"its type is {config.get('model_type')}": config.get("model_type") != "bert",
        f"it has the modules {', '.join(kinds)}": kinds not in _LIGHT_MODULES,
        f"it pools by {' and '.join(modes)}": len(modes) > 1 or modes[0] not in _LIGHT_POOLING,
        f"its positions are {positions}": positions != "absolute",
        f"its activation is {config.get('hidden_act')}": config.get("hidden_act") != "gelu",
        f"its numbers are {number}": number not in (None, "float32"),
        f"its task is {task}": task != "feature-extraction",
        "it is a decoder": bool(config.get("is_decoder")),
        "its prompt is not pooled": bool(prompt) and pooling.get("include_prompt") is False,
        "its vectors are cut": bool(
            _read_config(directory, "config_sentence_transformers.json").get("truncate_dim")
        ),
        "its weights are not in model.safetensors": not os.path.isfile(weights),
    }
    return next((one_line(reason) for reason, holds in reasons.items() if holds), "")


def _bert(directory: str, config: Mapping[str, Any]) -> Bert:
    keys = (
        "num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size",
        "max_position_embeddings",
    )  # fmt: skip
    sizes = [config.get(key) for key in keys]
    epsilon = config.get("layer_norm_eps", 1e-12)
    if not isinstance(epsilon, float) or not 0 <= epsilon < 1:
        raise _damage_error(os.path.join(directory, "config.json"))
    layers, heads, hidden, *rest = (
        size if isinstance(size, int) and 0 < size <= 1_000_000 else 0 for size in sizes
    )
    if not all((layers, heads, hidden, *rest)) or hidden % heads:
        raise _damage_error(os.path.join(directory, "config.json"))
    return Bert(layers, heads, hidden, rest[0], rest[1], epsilon)


def _read_config(*parts: str) -> Mapping[str, Any]:
    """Return a configuration file, empty if it is absent."""
    path = os.path.join(*parts)
    config = _read_json(path)
    if config is None:
        return {}
    if not isinstance(config, dict):
        raise _damage_error(path)
    return config


def _read_json(path: str) -> Any:
    try:
        with open(path, "rb") as file:
            raw = file.read(_MAX_CONFIG_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        if len(raw) > _MAX_CONFIG_BYTES:
            raise ValueError("too large")
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise _damage_error(path) from error


def unreadable(path: str, error: OSError) -> ModelError:
    return ModelError(f"cannot read {one_line(path)} ({error.strerror})")


def _damage_error(path: str) -> DamagedModelError:
    return DamagedModelError(f"{one_line(path)} is damaged: {REINSTALL}")
