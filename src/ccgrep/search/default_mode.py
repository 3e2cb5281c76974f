"""Chooses how to rank if the user does not say it."""

from __future__ import annotations

import os

from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.search.query import is_question
from ccgrep.search.request import Request

if TYPE_CHECKING:
    from ccgrep.kinds import Mode


def set_default_mode(request: Request, mode: Mode | None, store_dir: str) -> Request:
    """Return a request for ranked words with the configured mode.

    Without one, a question is ranked by words and meaning if turns are embedded.
    """
    if mode is not None:
        return request._replace(mode=mode)
    is_asking = all(map(is_question, request.patterns)) and not request.types
    if is_asking and request.limit and not request.needs_all_words and _has_vectors(store_dir):
        return request._replace(mode="hybrid", is_mode_chosen=True)
    return request


def _has_vectors(store_dir: str) -> bool:
    folder = os.path.join(store_dir, "vectors")
    try:
        return any(
            name.endswith(".vec")
            for model in os.listdir(folder)
            for name in os.listdir(os.path.join(folder, model))
        )
    except OSError:
        return False
