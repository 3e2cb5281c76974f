"""Which embedding model is used, for people to see."""

from typing import NamedTuple

from ccgrep.config import Config
from ccgrep.semantic import model as models
from ccgrep.semantic.model import Model


class ModelFacts(NamedTuple):
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


def shown(config: Config) -> ModelFacts:
    """The model that is set, its weights verified where their hash is known."""
    wanted = config.model if config.model != models.DEFAULT else None
    return _shown(models.find(wanted, config.model_variables))


def pulled(config: Config, name: str) -> ModelFacts:
    """Downloads a model. Nothing else does."""
    return _shown(models.pull(name, config.model_variables))


def _shown(model: Model) -> ModelFacts:
    models.verify(model)
    settings = model.settings
    is_light = settings.bert is not None
    return ModelFacts(
        name=model.name,
        id=model.id,
        source=model.source,
        directory=model.directory,
        dimensions=model.dimensions,
        max_pieces=settings.max_pieces,
        pooling=str(settings.pooling),
        is_normalised=settings.is_normalised,
        encoder="numpy" if is_light else f"sentence-transformers ({settings.why_not_light})",
        weights="verified" if models.is_verifiable(model) else "not verifiable: no known SHA-256",
    )
