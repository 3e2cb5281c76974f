"""Describes the embedding model in use and the tried ones, and downloads others."""

from typing import NamedTuple

from ccgrep.config import Config
from ccgrep.semantic import model as models
from ccgrep.semantic import multilingual, tried_models
from ccgrep.semantic.model import Model

TriedModel = tried_models.TriedModel


class ModelInfo(NamedTuple):
    """The facts that `ccgrep model` prints. The names are keys of its JSON output."""

    name: str
    id: str
    source: str
    directory: str
    dimensions: int
    max_pieces: int
    pooling: str
    is_normalised: bool
    encoder: str
    weights: str
    multilingual: str


def describe_model(config: Config) -> ModelInfo:
    """Return the configured model; verify its weights if their hash is known."""
    name = config.model if config.model != models.DEFAULT else None
    return _describe(models.find(name, config.model_variables))


def list_models() -> tuple[TriedModel, ...]:
    """Return the models that were measured, the default first."""
    return tried_models.TRIED_MODELS


def pull_model(config: Config, name: str) -> ModelInfo:
    """Download a model. No other function accesses the network."""
    return _describe(models.pull(name, config.model_variables))


def _describe(model: Model) -> ModelInfo:
    models.verify(model)
    settings = model.settings
    is_light = settings.bert is not None
    return ModelInfo(
        name=model.name,
        id=model.id,
        source=model.source,
        directory=model.directory,
        dimensions=model.dimensions,
        max_pieces=settings.max_tokens,
        pooling=str(settings.pooling),
        is_normalised=settings.is_normalised,
        encoder="numpy" if is_light else f"sentence-transformers ({settings.why_not_light})",
        weights="verified" if models.is_verifiable(model) else "not verifiable: no known SHA-256",
        multilingual=_describe_second(),
    )


def _describe_second() -> str:
    """Return name and source of the multilingual model; verify its weights."""
    model = multilingual.find()
    if model is None:
        return f"not installed: {multilingual.INSTALL}"
    models.verify(model)
    return f"{model.name}, from {model.source}, verified"
