"""Chooses how to rank, and what to search, if the user does not say it."""

from __future__ import annotations

import os

from ccgrep.errors import UsageError
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.search.query import is_question
from ccgrep.search.request import Request

if TYPE_CHECKING:
    from ccgrep.kinds import DefaultMode, TextKind


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


def limit_to_surfaces(request: Request) -> Request:
    """Return a request for text of the kinds that its surfaces are made of.

    Only embeddings tell the last answer from all answers. To other searches both are `assistant`.
    """
    if not request.surfaces:
        return request
    kinds: list[TextKind] = ["user" if s == "prompt" else "assistant" for s in request.surfaces]
    types = tuple(dict.fromkeys(k for k in kinds if k in (request.types or kinds)))
    if not types:
        raise UsageError(
            f"-t {' -t '.join(request.types)} and --surface {' --surface '.join(request.surfaces)} "
            "have no text in common: leave one of them out"
        )
    return request._replace(types=types, surfaces=())


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
