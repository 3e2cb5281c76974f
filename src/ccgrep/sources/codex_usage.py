"""Reads the token counts of Codex's rollouts.

Since 0.151, a `token_usage_record` reports each API response under its id. A `token_count` event
follows with counters that are cumulative for the thread, even in copied history. Older rollouts
have only the events.
"""

from typing import Any

from ccgrep.model import Usage
from ccgrep.sources.values import as_count, as_string, usage_key

_COUNTERS = ("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens")

Totals = tuple[int | None, ...]
"""The counters of a thread, in the order of `_COUNTERS`."""


def read_usage_record(payload: dict[str, Any], model: str) -> tuple[Totals, Usage] | None:
    """Return the thread's new totals and the usage of one response, or None if it is malformed."""
    usage, totals = payload.get("usage"), payload.get("thread_token_usage")
    response_id = as_string(payload.get("response_id"))
    if not isinstance(usage, dict) or not isinstance(totals, dict) or not response_id:
        return None
    key = usage_key("codex", response_id)
    return _read_counters(totals), _make_usage(key, model, _read_counters(usage), usage)


def read_token_count(info: Any, known: Totals, model: str) -> tuple[Totals, Usage] | None:
    """Return the thread's new totals and the tokens since `known`, or None if nothing is new."""
    info = info if isinstance(info, dict) else {}
    total, last = info.get("total_token_usage"), info.get("last_token_usage")
    if not isinstance(total, dict):
        return None
    totals = _read_counters(total)
    if totals == known:
        return None
    key = usage_key("codex", *totals)
    if isinstance(last, dict):
        return totals, _make_usage(key, model, _read_counters(last), last)
    spent = tuple(map(_subtract, totals, known or (0,) * len(_COUNTERS)))
    return totals, _make_usage(key, model, spent, {})


def _read_counters(counters: dict[str, Any]) -> Totals:
    return tuple(as_count(counters.get(name)) for name in _COUNTERS)


def _make_usage(key: bytes, model: str, spent: Totals, report: dict[str, Any]) -> Usage:
    """Return a usage whose input excludes the tokens that were read from or written to a cache."""
    input, cached, output, _ = spent
    written = as_count(report.get("cache_write_input_tokens"))
    return Usage(key, model, _subtract(_subtract(input, cached), written), output, cached, written)


def _subtract(a: int | None, b: int | None) -> int | None:
    """Return the difference of two counts, at least 0, or None if `a` is unknown."""
    return None if a is None else max(a - (b or 0), 0)
