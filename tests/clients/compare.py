"""Compares what ccgrep reports of a home with what a scenario scripted.

Nothing here knows how ccgrep reads a transcript: expected values come from the script, and the
tokens from what the stub server answered. Each difference is one line.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from tests.clients.script import (
    Answer,
    Call,
    Outcome,
    Ran,
    Say,
    Served,
    Session,
    Think,
    Turn,
)

Ask = Callable[..., Any]
"""Runs `ccgrep` with some arguments and `--json`, and returns what it prints."""
_COUNTS = ("input", "output", "cache_read", "cache_write")
_MAX_CHARS = 600
_UNEXPECTED_NOTES = frozenset(["error", "interrupted", "summary"])


def compare(outcome: Outcome, ask: Ask) -> list[str]:
    """Return the differences between the outcome of a scenario and what ccgrep knows of it."""
    listed = ask("list", "--tree", "--limit", "0")["sessions"]
    shown = [ask("show", session["id"], "--tools", "--thinking") for session in listed]
    found = _match(outcome, shown)
    ids = {name: session["id"] for name, session in found.items()}
    differences = [*_compare_list(outcome, shown, ids), *_compare_tree(outcome, listed, ids)]
    for session in outcome.scenario.sessions:
        if session.name in found:
            differences += _compare_session(outcome, session, found[session.name], ids)
    differences += _compare_tokens(outcome.served, ask("stats", "tokens", "--limit", "0"))
    return [*outcome.problems, *differences]


def _match(outcome: Outcome, shown: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the session that ccgrep reports for each expected one, by id or by last prompt."""
    known_ids = set(outcome.ids.values())
    found = {}
    for session in outcome.scenario.sessions:
        if session.name in outcome.ids:
            fits = [one for one in shown if one["id"] == outcome.ids[session.name]]
        else:
            last = session.turns[-1].prompt
            others = [one for one in shown if one["id"] not in known_ids]
            fits = [one for one in others if one["kind"] == session.kind and last in _prompts(one)]
        if fits:
            found[session.name] = fits[0]
            known_ids.add(fits[0]["id"])
    return found


def _prompts(shown: dict[str, Any]) -> list[str]:
    return [_turn_of(shown, number)["prompt"] for number in range(len(shown["turns"]))]


def _compare_list(
    outcome: Outcome, shown: list[dict[str, Any]], ids: dict[str, str]
) -> Iterator[str]:
    for session in outcome.scenario.sessions:
        if session.name not in ids:
            yield f"session {session.name}: not listed"
    expected = set(ids.values())
    for one in shown:
        if one["id"] not in expected:
            yield f"unexpected {one['kind']} session {one['id']}: {_prompts(one)}"


def _compare_tree(
    outcome: Outcome, listed: list[dict[str, Any]], ids: dict[str, str]
) -> Iterator[str]:
    """Compare the session below which `list --tree` prints each one."""
    path: list[str] = []
    above = {}
    for one in listed:
        path[one["depth"] :] = [one["id"]]
        above[one["id"]] = path[-2] if one["depth"] else None
    for session in outcome.scenario.sessions:
        if session.name in ids:
            expected = ids.get(session.parent or session.forked_from)
            yield from _differ(
                f"{session.name}: place in the tree", expected, above[ids[session.name]]
            )


def _compare_session(
    outcome: Outcome, session: Session, shown: dict[str, Any], ids: dict[str, str]
) -> Iterator[str]:
    served = _served(outcome, session)
    expected = {
        "kind": session.kind,
        "parent": ids.get(session.parent),
        "title": session.title or session.turns[0].prompt,
        "agent": session.agent or shown["agent"],
        "models": list(dict.fromkeys(one.model for one in served)),
        "input_tokens": sum(one.input for one in served) if served else None,
        "output_tokens": sum(one.output for one in served) if served else None,
        "is_complete": True,
    }
    for name, value in expected.items():
        yield from _differ(f"{session.name}: {name}", value, shown[name])
    turns = [_turn_of(shown, number) for number in range(len(shown["turns"]))]
    expected_turns = [_expected_turn(turn) for turn in session.turns]
    yield from _differ(
        f"{session.name}: prompts",
        [turn["prompt"] for turn in expected_turns],
        [turn["prompt"] for turn in turns],
    )
    for number, (wanted, got) in enumerate(zip(expected_turns, turns, strict=False)):
        yield from _compare_turn(f"{session.name}:{number}", wanted, got)


def _served(outcome: Outcome, session: Session) -> list[Served]:
    """Return the answers recorded in a session. Replies to the client are in the first one."""
    is_first = session == outcome.scenario.sessions[0]
    replies = outcome.scenario.replies if is_first else ()
    phrases = {turn.phrase for turn in (*session.turns, *replies)}
    return [one for one in outcome.served if one.phrase in phrases and one.is_recorded]


def _expected_turn(turn: Turn) -> dict[str, Any]:
    parts = [part for answer in turn.answers if _is_kept(answer) for part in answer.parts]
    return {
        "prompt": turn.prompt,
        "is_rolled_back": turn.is_rolled_back,
        "images": turn.images,
        "texts": [part.text for part in parts if isinstance(part, Say) and part.text],
        "thinking": [part.text for part in parts if isinstance(part, Think)],
        "calls": [part for part in parts if isinstance(part, Call | Ran)],
        "notes": turn.notes,
    }


def _is_kept(answer: Answer) -> bool:
    return answer.is_recorded and not answer.status


def _turn_of(shown: dict[str, Any], number: int) -> dict[str, Any]:
    """Return one turn of what ccgrep shows, in the form of `_expected_turn`."""
    messages = [message for message in shown["messages"] if message["turn"] == number]
    by_role: dict[str, list[dict[str, Any]]] = {"user": [], "assistant": [], "system": []}
    for message in messages:
        by_role[message["role"]].append(message)
    prompt = by_role["user"][0] if by_role["user"] else {"content": ""}
    return {
        "prompt": prompt["content"],
        "is_rolled_back": shown["turns"][number]["is_rolled_back"],
        "images": len(prompt.get("attached", ())),
        "texts": [m["content"] for m in by_role["assistant"] if "content" in m],
        "thinking": [m["thinking"] for m in by_role["assistant"] if "thinking" in m],
        "calls": [call for m in by_role["assistant"] for call in m.get("tool_calls", ())],
        "notes": [(m["kind"], m["content"]) for m in by_role["system"]],
    }


def _compare_turn(place: str, wanted: dict[str, Any], got: dict[str, Any]) -> Iterator[str]:
    yield from _differ(f"{place}: rolled back", wanted["is_rolled_back"], got["is_rolled_back"])
    yield from _differ(f"{place}: images", wanted["images"], got["images"])
    for name in ("texts", "thinking"):
        yield from _differ(f"{place}: {name}", "\n".join(wanted[name]), "\n".join(got[name]))
    names = [call.full_name for call in wanted["calls"]]
    yield from _differ(f"{place}: calls", names, [call["name"] for call in got["calls"]])
    for call, other in zip(wanted["calls"], got["calls"], strict=False):
        yield from _compare_call(f"{place}: {call.name}", call, other)
    yield from _compare_notes(place, wanted["notes"], got["notes"])


def _compare_call(place: str, call: Call | Ran, got: dict[str, Any]) -> Iterator[str]:
    yield from _differ(f"{place}: input", call.input, got["input"])
    result = got["result"] or {}
    yield from _differ(f"{place}: has a result", True, got["result"] is not None)
    yield from _differ(f"{place}: failed", call.is_error, result.get("is_error", False))
    text = result.get("text", "")
    if isinstance(call, Call):
        yield from _differ(f"{place}: images", call.images, len(result.get("blobs", ())))
        if call.is_whole:
            yield from _differ(f"{place}: output", call.output, text)
            return
    if call.output not in text:
        yield f"{place}: output: expected {_short(call.output)} in {_short(text)}"


def _compare_notes(place: str, wanted: dict[str, str], got: list[tuple[str, str]]) -> Iterator[str]:
    for kind, text in wanted.items():
        if not any(kind == other and text in content for other, content in got):
            yield f"{place}: no note {kind} with {text!r} among {got}"
    for kind, content in got:
        if kind in _UNEXPECTED_NOTES and kind not in wanted:
            yield f"{place}: unexpected note {kind}: {content!r}"


def _compare_tokens(served: tuple[Served, ...], stats: dict[str, Any]) -> Iterator[str]:
    by_model: dict[str, Counter[str]] = {}
    for one in served:
        if one.is_recorded:
            counts = by_model.setdefault(one.model, Counter())
            counts.update({"messages": 1, **{name: getattr(one, name) for name in _COUNTS}})
    names = ("messages", *_COUNTS)
    got = {row["model"]: {name: row[name] for name in names} for row in stats["models"]}
    for model in sorted(by_model.keys() | got.keys(), key=str):
        yield from _differ(f"tokens of {model}", dict(by_model.get(model, {})), got.get(model, {}))


def _differ(what: str, expected: Any, got: Any) -> Iterator[str]:
    if expected != got:
        yield f"{what}: expected {_short(expected)}, got {_short(got)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}… ({len(text)} characters)"
