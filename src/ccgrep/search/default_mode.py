"""Chooses how to rank if the user does not say it."""

from __future__ import annotations

import os

from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.search.query import is_question
from ccgrep.search.request import Request

if TYPE_CHECKING:
    from ccgrep.kinds import DefaultMode


def set_default_mode(request: Request, mode: DefaultMode, store_dir: str) -> Request:
    """Return a request for ranked words in the configured mode.

    In the mode `auto`, a question is ranked by words and meaning if turns are embedded.
    """
    if mode != "auto":
        return request._replace(mode=mode)
    is_asking = all(map(is_question, request.patterns)) and not request.types
    if is_asking and request.limit and _has_vectors(store_dir):
        return request._replace(mode="hybrid", is_mode_chosen=True)
    return request


def set_best_mode(request: Request, mode: DefaultMode, store_dir: str) -> Request:
    """Return a request for an agent, which asks with words where a person asks a question.

    In the mode `auto`, it is ranked by words and meaning if turns are embedded.
    """
    if mode == "auto" and not request.types and request.limit and _has_vectors(store_dir):
        return request._replace(mode="hybrid", is_mode_chosen=True)
    return set_default_mode(request, mode, store_dir)


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
