"""Turn a request into the questions that a team's server answers. Pure."""

from __future__ import annotations

from typing import Any

from ccgrep.fulltext.terms import trigram_text
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.refs import parse
from ccgrep.search.as_typed import find_literals
from ccgrep.search.exact_search import DEFAULT_TYPES
from ccgrep.search.regex import Plan, whole_words
from ccgrep.team.lexemes import lexeme, quote
from ccgrep.text import to_nfc

if TYPE_CHECKING:
    from ccgrep.search.regex import Matcher
    from ccgrep.search.request import Filters, Request
    from ccgrep.team.lexemes import Words

_FEW, _MANY = 500, 2000
_MOST_EXACT = 2000
_FIRST_TEXTS = 30
_EXACT_FIELDS = {"tool": ("input", "output"), "thinking": ("thinking",)}


def filter_fields(filters: Filters, owners: tuple[str, ...]) -> dict[str, Any]:
    """Return the filters that are set."""
    fields: dict[str, Any] = {
        "owners": owners,
        "projects": [to_nfc(part) for part in filters.projects],
        "here": filters.here,
        "since": filters.since,
        "until": filters.until,
        "sources": filters.sources,
        "sessions": [parse(ref).session for ref in filters.sessions or ()],
        "except": sorted(filters.except_ids),
        "branches": filters.branches,
        "models": filters.models,
        "tools": [name.lower() for name in filters.tools],
        "max_sessions": filters.max_sessions,
    }
    chosen = {name: value for name, value in fields.items() if value not in (None, (), [], 0)}
    return {**chosen, "subagents": filters.subagents, "documents": filters.documents}


def words_question(request: Request, words: Words, owners: tuple[str, ...]) -> dict[str, Any]:
    """Return the question for candidates of a word search."""
    needs_texts = words.needs_texts or bool(find_literals(request))
    most = _FEW if 0 < request.limit <= _FEW // 8 else _MANY
    return {
        "filters": filter_fields(request.filters, owners),
        "stems": words.stems,
        "lexemes": [quote(one) for one in words.lexemes],
        "groups": words.groups,
        "some": " | ".join(words.groups),
        "all": words.all,
        "most": most,
        "texts": most if needs_texts else min(max(_FIRST_TEXTS, 2 * request.limit), most),
    }


def exact_question(request: Request, matcher: Matcher, owners: tuple[str, ...]) -> dict[str, Any]:
    """Return the question for candidates of an exact search."""
    types = request.types or DEFAULT_TYPES
    question: dict[str, Any] = {
        "filters": filter_fields(request.filters, owners),
        "most": _MOST_EXACT,
        "partial": types,
    }
    if request.invert:
        return {**question, "is_scan": True}
    if {"user", "assistant"} & set(types):
        question["discussion"] = _plan_fields(matcher.plan, matcher.ignore_case)
    fields = [field for kind in types for field in _EXACT_FIELDS.get(kind, ())]
    if fields:
        words = _plan_words(matcher.plan, fields, matcher.ignore_case)
        question |= {"words": words} if words else {"is_scan": True}
    return question


def _plan_fields(plan: Plan | str | None, ignore_case: bool) -> Any:
    """Return a plan as JSON, without what the server would fold differently from RE2."""
    if isinstance(plan, str):
        folded = trigram_text(plan)
        return folded if folded.isascii() or not ignore_case else None
    if plan is None:
        return None
    parts = [_plan_fields(part, ignore_case) for part in plan.parts]
    if plan.kind == "any":
        return {"kind": "any", "parts": parts} if None not in parts else None
    return {"kind": "all", "parts": [part for part in parts if part is not None]}


def _plan_words(plan: Plan | str | None, fields: list[str], ignore_case: bool) -> str:
    """Return a query of lexemes for a plan, or "" if it rules out no turn."""
    if plan is None:
        return ""
    if isinstance(plan, str):
        words = [word.lower() for word in whole_words(plan, ignore_case)]
        alternatives = (
            " | ".join(quote(lexeme(field, word)) for field in fields) for word in words
        )
        return " & ".join(f"({one})" for one in alternatives)
    parts = [_plan_words(part, fields, ignore_case) for part in plan.parts]
    if plan.kind == "any":
        return f"({' | '.join(parts)})" if all(parts) else ""
    return " & ".join(filter(None, parts))
