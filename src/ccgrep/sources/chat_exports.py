"""Reads the data exports of claude.ai and ChatGPT: `conversations.json`, alone or in a ZIP.

The values are untrusted: whatever is not as expected is ignored, and a conversation without
messages is no session.
"""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from ccgrep.model import Session, Text, Thinking, ToolResult
from ccgrep.sources.identity import safe_id
from ccgrep.sources.jsonl import Mark
from ccgrep.sources.reading import SessionReading, add_totals
from ccgrep.sources.titles import choose_title
from ccgrep.sources.turns import RecordInfo, Sink, TurnBuilder
from ccgrep.sources.values import append_unique, as_dicts, as_string, parse_time, uuid_bytes

_MAX_DEPTH = 100_000
_RECORDING = "[recording]"


def read_claude_export(conversations: list[Any], sink: Sink) -> Iterator[SessionReading]:
    """Yield the conversations of claude.ai. Prompts that were edited later are undone turns."""
    for value in conversations:
        if isinstance(value, dict) and value.get("uuid"):
            chat = _Chat(sink)
            nodes, last = _make_tree(as_dicts(value.get("chat_messages")))
            for node, is_current in _walk(nodes, value.get("current_leaf_message_uuid") or last):
                _add_claude_message(chat, node["message"], is_current)
            yield from chat.finish("claude_ai", value["uuid"], value.get("name"))


def _make_tree(messages: list[dict[str, Any]]) -> tuple[dict[str, dict[str, Any]], str]:
    """Return messages as nodes of a tree like ChatGPT's, and the last of them.

    Older exports do not say which message one follows: there it is the one before it.
    """
    nodes: dict[str, dict[str, Any]] = {}
    last = ""
    for number, message in enumerate(messages):
        parent = message.get("parent_message_uuid")
        id = as_string(message.get("uuid"))
        id = id if id and id not in nodes else f"#{number}"
        nodes[id] = {"parent": parent if isinstance(parent, str) else last, "message": message}
        last = id
    return nodes, last


def read_chatgpt_export(conversations: list[Any], sink: Sink) -> Iterator[SessionReading]:
    """Yield the conversations of ChatGPT. Prompts that were edited later are undone turns."""
    for value in conversations:
        if isinstance(value, dict) and isinstance(value.get("mapping"), dict):
            chat = _Chat(sink)
            for node, is_current in _walk(value["mapping"], value.get("current_node")):
                if isinstance(message := node.get("message"), dict):
                    _add_chatgpt_message(chat, message, is_current)
            id = value.get("conversation_id") or value.get("id")
            yield from chat.finish("chatgpt", id, value.get("title"))


class _Chat:
    """A conversation as it is read."""

    def __init__(self, sink: Sink) -> None:
        self.builder = TurnBuilder(sink)
        self.models: tuple[str, ...] = ()
        self.open_call = ""
        self._first_prompt = ""
        self._undone: list[int] = []

    def locate(self, id: Any, time: Any) -> None:
        """Set the message to which the next texts belong."""
        self.builder.record = RecordInfo(Mark(0, 0), 0, None, parse_time(time), uuid=uuid_bytes(id))

    def add_prompt(self, text: str, is_undone: bool = False) -> None:
        self.builder.begin_turn(text)
        self._first_prompt = self._first_prompt or text
        if is_undone:
            self._undone.append(self.builder.count - 1)

    def begin_message(self, id: Any, model: str = "") -> None:
        self.builder.begin_message(as_string(id) or str(self.builder.count), model)
        self.models = append_unique(self.models, model)

    def finish(self, source: str, id: Any, title: Any) -> Iterator[SessionReading]:
        entries, _ = self.builder.finish()
        if not entries or not isinstance(id, str):
            return
        undone = set(self._undone)
        closed = tuple(
            replace(entry, is_open=False, is_rolled_back=number in undone)
            for number, entry in enumerate(entries)
        )
        text, is_titled = choose_title([as_string(title)], self._first_prompt)
        session = Session(
            safe_id(id),
            source,
            title=text,
            title_origin="client" if is_titled else "prompt",
            models=self.models,
        )
        yield SessionReading(add_totals(session, closed), closed)


def _add_claude_message(chat: _Chat, message: dict[str, Any], is_current: bool) -> None:
    chat.locate(message.get("uuid"), message.get("created_at"))
    blocks = as_dicts(message.get("content"))
    if not any(block.get("text") for block in blocks) and as_string(message.get("text")):
        blocks = [*blocks, {"type": "text", "text": message["text"]}]
    if message.get("sender") == "human":
        text = "\n".join(filter(None, (as_string(b.get("text")) for b in blocks)))
        chat.add_prompt(text, is_undone=not is_current)
        for file in (*as_dicts(message.get("attachments")), *as_dicts(message.get("files"))):
            lines = [as_string(file.get("file_name")), as_string(file.get("extracted_content"))]
            if text := "\n".join(filter(None, lines)):
                chat.builder.add_note("context", text)
    elif blocks:
        chat.begin_message(message.get("uuid"))
        for number, block in enumerate(blocks):
            _add_claude_block(chat, block, f"{message.get('uuid')} {number}")


def _add_claude_block(chat: _Chat, block: dict[str, Any], key: str) -> None:
    match block.get("type"):
        case "text" if text := as_string(block.get("text")):
            chat.builder.add_part(Text(text))
        case "thinking" if text := as_string(block.get("thinking")):
            chat.builder.add_part(Thinking(text))
        case "tool_use":
            chat.open_call = as_string(block.get("id")) or key
            chat.builder.add_call(chat.open_call, as_string(block.get("name")), block.get("input"))
        case "tool_result":
            content = block.get("content")
            texts = [as_string(part.get("text")) for part in as_dicts(content)] or [
                as_string(content)
            ]
            call = as_string(block.get("tool_use_id")) or chat.open_call
            is_error = block.get("is_error") is True
            chat.builder.add_result(call, ToolResult("\n".join(filter(None, texts)), is_error))


def _walk(mapping: dict[str, Any], current: Any) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield each node of a tree after its parent, and whether it is on the current branch.

    Other branches come before it, so that its turns are the last ones.
    """
    path: dict[str, None] = {}
    while isinstance(current, str) and current in mapping and current not in path:
        path[current] = None
        current = _node(mapping, current).get("parent")
    children: dict[str, list[str]] = {}
    for id in mapping:
        parent = _node(mapping, id).get("parent")
        known = parent if isinstance(parent, str) and parent in mapping else ""
        children.setdefault(known, []).append(id)
    waiting: list[str] = [""]
    seen: set[str] = set()
    while waiting and len(seen) < _MAX_DEPTH:
        id = waiting.pop()
        if id in seen:
            continue
        seen.add(id)
        if id:
            yield _node(mapping, id), id in path or not path
        waiting += sorted(children.get(id, []), key=path.__contains__)[::-1]


def _node(mapping: dict[str, Any], id: str) -> dict[str, Any]:
    node = mapping[id]
    return node if isinstance(node, dict) else {}


def _add_chatgpt_message(chat: _Chat, message: dict[str, Any], is_current: bool) -> None:
    chat.locate(message.get("id"), message.get("create_time"))
    author, content, metadata = (
        value if isinstance(value, dict) else {}
        for value in (message.get("author"), message.get("content"), message.get("metadata"))
    )
    role, text = author.get("role"), _chatgpt_text(content)
    names = [as_string(file.get("name")) for file in as_dicts(metadata.get("attachments"))]
    is_hidden = metadata.get("is_visually_hidden_from_conversation") is True
    if role == "assistant":
        model = as_string(metadata.get("model_slug"))
        _add_chatgpt_answer(chat, message, content, text, model)
    elif not text and not any(names):
        return
    elif role == "tool":
        _add_chatgpt_result(chat, text, content)
    elif role == "user" and not is_hidden:
        chat.add_prompt(text, is_undone=not is_current)
        for name in filter(None, names):
            chat.builder.add_note("context", name)
    elif text:
        chat.builder.add_note("context", text)


def _add_chatgpt_answer(
    chat: _Chat, message: dict[str, Any], content: dict[str, Any], text: str, model: str
) -> None:
    recipient = as_string(message.get("recipient")) or "all"
    thoughts = [as_string(thought.get("content")) for thought in as_dicts(content.get("thoughts"))]
    if not text and not any(thoughts):
        return
    chat.begin_message(message.get("id"), model)
    for thought in filter(None, thoughts):
        chat.builder.add_part(Thinking(thought))
    if text and recipient != "all":
        chat.open_call = as_string(message.get("id"))
        chat.builder.add_call(chat.open_call, recipient, {"text": text})
    elif text:
        chat.builder.add_part(Text(text))


def _add_chatgpt_result(chat: _Chat, text: str, content: dict[str, Any]) -> None:
    """Add what a tool returned to its call. Further outputs of the same call are notes."""
    if chat.open_call:
        is_error = content.get("content_type") == "system_error"
        chat.builder.add_result(chat.open_call, ToolResult(text, is_error))
        chat.open_call = ""
    else:
        chat.builder.add_note("notification", text)


def _chatgpt_text(content: dict[str, Any]) -> str:
    """Return the text of a message, with a word for an image or a recording without a text."""
    parts = content.get("parts")
    texts = [_chatgpt_part(part) for part in parts] if isinstance(parts, list) else []
    if any(text and text != _RECORDING for text in texts):
        texts = [text for text in texts if text != _RECORDING]
    fields = ("text", "result", "user_profile", "user_instructions")
    texts += [as_string(content.get(field)) for field in fields]
    return "\n".join(filter(None, texts))


def _chatgpt_part(part: Any) -> str:
    if not isinstance(part, dict):
        return as_string(part)
    kind = as_string(part.get("content_type"))
    if text := as_string(part.get("text")):
        return text
    word = _RECORDING if "audio" in kind else "[image]" if "image" in kind else f"[{kind}]"
    return word if kind else ""
