"""From a turn at its place to the document that the text index takes. Pure.

Also says what the text of a turn is, by kind: the exact modes verify on the same text.
"""

from collections.abc import Collection
from functools import lru_cache
from typing import Any, NamedTuple, get_args

from ccgrep.fulltext.document_id import KINDS, key_of, packed, place_of
from ccgrep.fulltext.expand import distinct, expand
from ccgrep.fulltext.surfaces import NO_TEXT, said_keys, text_key
from ccgrep.fulltext.terms import gram_text, said_text
from ccgrep.kinds import TextKind
from ccgrep.model import Entry, Note, Session, ToolCall, Turn

MAX_INDEXED_CHARS = 1024 * 1024
"""What is indexed of one kind of text of one turn; what is stored is not cut."""
_MAX_TITLE_CHARS = 1000
_key = lru_cache(maxsize=16)(key_of)
"""The documents of a session come one after the other."""

Fields = dict[str, str | int | bytes | list[str]]
"""A document as the text index takes it, by the names of its fields."""


class Content(NamedTuple):
    """What a turn gives to its documents, whatever its places. `prompt` and `answer` are the
    text to show; without `words` the content is that of the discussion alone."""

    models: list[str]
    tools: list[str]
    said: str
    words: dict[str, str]
    partial: list[str]
    prompt: str = ""
    answer: str = ""
    keys: tuple[int, ...] = ()  # of prompt, answer and full


class Document(NamedTuple):
    """A place to index."""

    session: str
    turn: int
    object: str
    kind: str
    parent: str
    started: int
    title: str
    exact: dict[str, list[str]]
    content: Content


def turn_text(turn: Turn, kind: TextKind) -> str:
    """The text of one kind, as it is searched."""
    match kind:
        case "user":
            return turn.prompt
        case "assistant":
            return "\n".join(turn.assistant_texts())
        case "thinking":
            return "\n".join(turn.thinking_texts())
        case "tool":
            calls = turn.calls()
            return "\n".join(text for text in (_tool_input(calls), _tool_output(calls)) if text)


def field_text(turn: Turn, field: str) -> str:
    """The text that a field of the index is made of."""
    match field:
        case "tool":
            return _tool_input(turn.calls())
        case "output":
            return _tool_output(turn.calls())
        case "note":
            return "\n".join(step.text for step in turn.steps if isinstance(step, Note))
        case "thinking":
            return turn_text(turn, "thinking")
        case "user":
            return turn.prompt
    return turn_text(turn, "assistant")


def said_content(turn: Turn) -> Content:
    """What was said alone, and as it stands: enough to be found soon by its words. Exact searches
    look at each such turn."""
    prompt, answer = turn.prompt, turn_text(turn, "assistant")
    said = said_text(prompt[:MAX_INDEXED_CHARS], answer[:MAX_INDEXED_CHARS])
    kinds = list(get_args(TextKind))
    return Content(_models(turn), _tools(turn.calls()), said, {}, kinds, prompt, answer)


def turn_content(turn: Turn) -> Content:
    """Everything that is indexed of a turn. Output and thinking are indexed by whole tokens:
    they are most of what there is, and rarely looked for."""
    prompt, said, calls = turn.prompt, turn.assistant_texts(), turn.calls()
    answer = "\n".join(said)
    tool, output = _tool_input(calls), _tool_output(calls)
    thinking, note = field_text(turn, "thinking"), field_text(turn, "note")
    asked, answered = expand(prompt[:MAX_INDEXED_CHARS]), expand(answer[:MAX_INDEXED_CHARS])
    words = {
        "tool": expand(distinct(tool[:MAX_INDEXED_CHARS])),
        "note": expand(distinct(note[:MAX_INDEXED_CHARS])),
        "output": output[:MAX_INDEXED_CHARS],
        "thinking": thinking[:MAX_INDEXED_CHARS],
        "trigram": gram_text(f"{prompt[:MAX_INDEXED_CHARS]}\n{answer[:MAX_INDEXED_CHARS]}"),
    }
    texts = {"user": prompt, "assistant": answer, "tool": tool + output, "thinking": thinking}
    return Content(
        models=_models(turn),
        tools=_tools(calls),
        said=said_text(asked, answered),
        words={name: text for name, text in words.items() if text},
        partial=[name for name, text in texts.items() if len(text) > MAX_INDEXED_CHARS],
        prompt=prompt,
        answer=answer,
        keys=said_keys(prompt, said),
    )


_FIELDS = {"tool": ("tool", "output"), "thinking": ("thinking",)}


def limited(content: Content, kinds: Collection[str]) -> Content:
    """`content` without the words of kinds that are not to be indexed. Such a turn is marked as
    indexed in part, and so looked at by exact searches of that kind."""
    left_out = [kind for kind in _FIELDS if kind not in kinds]
    if not left_out:
        return content
    fields = {field for kind in left_out for field in _FIELDS[kind]}
    words = {name: text for name, text in content.words.items() if name not in fields}
    missing = [kind for kind in left_out if not fields.isdisjoint(content.words)]
    return content._replace(words=words, partial=sorted({*content.partial, *missing}))


def turn_document(
    session: Session, number: int, entry: Entry, content: Content, is_superseded: bool = False
) -> Document:
    """The document of a turn at one of its places."""
    branch = entry.branch or session.branch
    return Document(
        session=session.id,
        turn=number,
        object=entry.turn.hex(),
        kind="superseded" if is_superseded else session.kind,
        parent=session.parent,
        started=entry.started or session.started or 0,
        title=session.title if number == 0 else "",
        exact={
            "source": [session.source],
            "project": [session.project],
            "branch": [branch] if branch else [],
            "model": content.models,
            "tool_name": content.tools,
            "partial": content.partial,
        },
        content=content,
    )


def fields_of(document: Document) -> Fields:
    content = document.content
    prompt_key, answer_key, full_key = content.keys or (NO_TEXT,) * 3
    fields: Fields = {
        "place": place_of(document.session, document.turn),
        "session": document.session,
        **document.exact,
        "session_key": _key(document.session),
        "parent_key": _key(document.parent),
        "object_key": int(document.object[:14], 16),
        "turn": document.turn,
        "kind": KINDS.index(document.kind),
        "started": document.started,
        "prompt_key": prompt_key,
        "answer_key": answer_key,
        "full_key": full_key,
        "title_key": text_key(document.title),
        "said": content.said,
        **content.words,
    }
    if document.title:
        fields["title"] = expand(document.title)
        fields["shown_title"] = document.title[:_MAX_TITLE_CHARS]
    if content.said or content.words:
        # What was said alone is soon replaced: as fast as can be.
        fields["text"] = packed(content.prompt, content.answer, bool(content.words))
    return fields


def _models(turn: Turn) -> list[str]:
    return sorted({message.model for message in turn.messages() if message.model})


def _tools(calls: list[ToolCall]) -> list[str]:
    return sorted({call.name.lower() for call in calls})


def _tool_input(calls: list[ToolCall]) -> str:
    return "\n".join([text for call in calls for text in (call.name, *_strings(call.input))])


def _strings(value: Any) -> list[str]:
    """Every text inside a call's input; numbers too, as they are written."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return [text for item in items for text in _strings(item)]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return [str(value)] if is_number else []


def _tool_output(calls: list[ToolCall]) -> str:
    results = [call.result.text for call in calls if call.result is not None]
    return "\n".join(filter(None, results))
