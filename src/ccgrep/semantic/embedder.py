"""A model and the directory of its vectors, for embedding and for searching."""

from typing import NamedTuple

from ccgrep.config import Config
from ccgrep.semantic import encoder, multilingual
from ccgrep.semantic.chunks import AnySplitter, CharacterSplitter, Splitter
from ccgrep.semantic.encoder import OpenEncoder
from ccgrep.semantic.model import MULTILINGUAL, Model
from ccgrep.semantic.vector_files import model_dir
from ccgrep.store.store import Store


class Embedder(NamedTuple):
    model: Model
    directory: str

    @property
    def is_multilingual(self) -> bool:
        return self.model.name == MULTILINGUAL

    def prepare(self, store: Store) -> None:
        """Make the files that the encoder needs. The caller holds the lock of the directory."""
        if self.is_multilingual:
            multilingual.prepare(store, self.directory, self.model)

    def open_encoder(self, texts: int = 1, threads: int = 1) -> OpenEncoder:
        """Return the fastest encoder for a number of texts. A query is one text."""
        if self.is_multilingual:
            return OpenEncoder(multilingual.open_encoder(self.directory, threads), None)
        return encoder.open_encoder(self.model, texts, threads)

    def open_splitter(self) -> AnySplitter:
        return CharacterSplitter() if self.is_multilingual else Splitter(self.model)


def make_embedder(config: Config, model: Model) -> Embedder:
    return Embedder(model, model_dir(config.store_dir, model.id))
