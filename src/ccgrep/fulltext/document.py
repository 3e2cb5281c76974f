"""Build the document of a turn at a place. Pure.

Also defines the text of each text kind of a turn: exact searches verify matches on it. It has
no colors.
"""

from collections.abc import Collection
from functools import lru_cache
from typing import Any, NamedTuple, get_args

from ccgrep.colors import drop_colors
from ccgrep.fulltext.document_id import KINDS, format_place, hash_session_id, pack_discussion
from ccgrep.fulltext.expand import distinct_words, expand, has_long_word
from ccgrep.fulltext.surfaces import NO_TEXT, surface_keys, text_key
from ccgrep.fulltext.terms import discussion_text, trigram_text
from ccgrep.kinds import TextKind
from ccgrep.model import Entry, Note, Session, ToolCall, Turn

MAX_INDEXED_CHARS = 1024 * 1024
"""The limit for one text kind of one turn. The store holds the whole text."""
_MAX_TITLE_CHARS = 1000
_hash_session_id = lru_cache(maxsize=16)(hash_session_id)

Fields = dict[str, str | int | bytes | list[str]]
"""A document by the names of its index fields."""


class Content(NamedTuple):
    """The part of a document that is the same at every place of a turn."""

    models: list[str]
    tools: list[str]
    discussion: str
    words: dict[str, str]  # by index field; empty if only the discussion is indexed
    partial: list[str]  # text kinds that are not indexed completely
    prompt: str = ""
    answer: str = ""
    keys: tuple[int, ...] = ()  # of the surfaces prompt, answer and full


def turn_text(turn: Turn, kind: TextKind) -> str:
    """Return the text of one text kind."""
    match kind:
        case "user":
            return drop_colors(turn.prompt)
        case "assistant":
            return drop_colors("\n".join(turn.assistant_texts()))
        case "thinking":
            return drop_colors("\n".join(turn.thinking_texts()))
        case "tool":
            calls = turn.calls()
            return "\n".join(text for text in (_tool_input(calls), _tool_output(calls)) if text)


def field_text(turn: Turn, field: str) -> str:
    """Return the text behind an index field."""
    match field:
        case "tool":
            return _tool_input(turn.calls())
        case "output":
            return _tool_output(turn.calls())
        case "note":
            notes = (step.text for step in turn.steps if isinstance(step, Note))
            return drop_colors("\n".join(notes))
        case "user" | "thinking":
            return turn_text(turn, field)
    return turn_text(turn, "assistant")


def discussion_content(turn: Turn) -> Content:
    """Return the discussion alone, unexpanded: quick to build for the first searches.

    Every text kind is partial, so exact searches read the turn itself.
    """
    prompt, answer = turn_text(turn, "user"), turn_text(turn, "assistant")
    discussion = discussion_text(prompt[:MAX_INDEXED_CHARS], answer[:MAX_INDEXED_CHARS])
    kinds = list(get_args(TextKind))
    return Content(_models(turn), _tools(turn.calls()), discussion, {}, kinds, prompt, answer)


def turn_content(turn: Turn) -> Content:
    """Return everything that is indexed of a turn.

    Output and thinking are not expanded: they are most of the text and rarely searched.
    """
    prompt, answer, calls = turn_text(turn, "user"), turn_text(turn, "assistant"), turn.calls()
    tool, output = _tool_input(calls), _tool_output(calls)
    thinking, note = field_text(turn, "thinking"), field_text(turn, "note")
    cut_prompt, cut_answer = prompt[:MAX_INDEXED_CHARS], answer[:MAX_INDEXED_CHARS]
    input_words = distinct_words(tool[:MAX_INDEXED_CHARS])
    words = {
        "tool": expand(input_words),
        "input": input_words,
        "note": expand(distinct_words(note[:MAX_INDEXED_CHARS])),
        "output": distinct_words(output[:MAX_INDEXED_CHARS]),
        "thinking": distinct_words(thinking[:MAX_INDEXED_CHARS]),
        "trigram": trigram_text(f"{cut_prompt}\n{cut_answer}"),
    }
    kinds = {"user": prompt, "assistant": answer, "tool": tool + output, "thinking": thinking}
    return Content(
        models=_models(turn),
        tools=_tools(calls),
        discussion=discussion_text(expand(cut_prompt), expand(cut_answer)),
        words={name: text for name, text in words.items() if text},
        partial=[kind for kind, text in kinds.items() if _is_partly_indexed(kind, text)],
        prompt=prompt,
        answer=answer,
        keys=surface_keys(turn.prompt, turn.assistant_texts()),
    )


def _is_partly_indexed(kind: str, text: str) -> bool:
    """Return whether an exact search cannot rely on the index for a text.

    The index drops very long words. Prompt and answer are found by their trigrams all the same.
    """
    is_long = len(text) > MAX_INDEXED_CHARS
    return is_long or (kind in _FIELDS and has_long_word(text))


_FIELDS = {"tool": ("tool", "input", "output"), "thinking": ("thinking",)}


def restrict_kinds(content: Content, kinds: Collection[str]) -> Content:
    """Return `content` without the words of text kinds that are not to be indexed.

    It becomes partial in those kinds, so exact searches read the turn itself.
    """
    left_out = [kind for kind in _FIELDS if kind not in kinds]
    if not left_out:
        return content
    fields = {field for kind in left_out for field in _FIELDS[kind]}
    words = {name: text for name, text in content.words.items() if name not in fields}
    missing = [kind for kind in left_out if not fields.isdisjoint(content.words)]
    return content._replace(words=words, partial=sorted({*content.partial, *missing}))


def document_fields(
    session: Session, number: int, entry: Entry, content: Content, is_superseded: bool = False
) -> Fields:
    """Return the document of a turn at one of its places."""
    branch = entry.branch or session.branch
    title = session.title if number == 0 else ""
    prompt_key, answer_key, full_key = content.keys or (NO_TEXT,) * 3
    fields: Fields = {
        "place": format_place(session.id, number),
        "session": session.id,
        "source": [session.source],
        "project": [session.project],
        "branch": [branch] if branch else [],
        "model": content.models,
        "tool_name": content.tools,
        "partial": content.partial,
        "session_key": _hash_session_id(session.id),
        "parent_key": _hash_session_id(session.parent),
        "object_key": int.from_bytes(entry.turn[:7]),
        "turn": number,
        "kind": KINDS.index("superseded" if is_superseded else session.kind),
        "started": entry.started or session.started or 0,
        "prompt_key": prompt_key,
        "answer_key": answer_key,
        "full_key": full_key,
        "title_key": text_key(title),
        "said": content.discussion,
        **content.words,
    }
    if title:
        fields["title"] = expand(title)
        fields["shown_title"] = title[:_MAX_TITLE_CHARS]
    if content.discussion or content.words:
        # A document of the discussion alone is soon replaced: compressing it is wasted time.
        is_compressed = bool(content.words)
        fields["text"] = pack_discussion(content.prompt, content.answer, is_compressed)
    return fields


def _models(turn: Turn) -> list[str]:
    return sorted({message.model for message in turn.messages() if message.model})


def _tools(calls: list[ToolCall]) -> list[str]:
    return sorted({call.name.lower() for call in calls})


def _tool_input(calls: list[ToolCall]) -> str:
    texts = [text for call in calls for text in (call.name, *_strings(call.input))]
    return drop_colors("\n".join(texts))


def _strings(value: Any) -> list[str]:
    """Return every string and number inside a tool call's input."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return [text for item in items for text in _strings(item)]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return [str(value)] if is_number else []


def _tool_output(calls: list[ToolCall]) -> str:
    results = [call.result.text for call in calls if call.result is not None]
    return drop_colors("\n".join(filter(None, results)))
