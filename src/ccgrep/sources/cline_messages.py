"""Reads the messages of Cline's current format, and builds the turns for both formats."""

from typing import Any

from ccgrep.model import Text, Thinking, ToolResult, Usage
from ccgrep.sources.cline_records import (
    ANSWERS,
    as_blocks,
    extract_images,
    parse_input,
    parse_metrics,
    parse_output,
)
from ccgrep.sources.jsonl import Mark
from ccgrep.sources.titles import MAX_TITLE_CHARS
from ccgrep.sources.turns import RecordInfo, TurnBuilder
from ccgrep.sources.values import (
    append_unique,
    as_amount,
    as_dict,
    as_string,
    count_type,
    parse_time,
    uuid_bytes,
)


class Messages:
    """The turns of a session, and what its messages say about the session."""

    def __init__(self, turns: TurnBuilder, end: int) -> None:
        self.turns = turns
        self.first_prompt = ""
        self.models: tuple[str, ...] = ()
        self.unknown: dict[str, int] = {}
        self.cost_usd: float | None = None
        self.cwd = ""
        self.spoken: set[str] = set()  # the calls by which the agent spoke
        self._end = end

    def begin_record(self, time: int | None, id: str = "") -> None:
        """Begin a message. Those of a document have no place in the file of their own."""
        uuid = uuid_bytes(id) if id else b""
        self.turns.record = RecordInfo(Mark(0, 0), self._end, None, time, self.cwd, uuid=uuid)

    def begin_turn(self, prompt: str, blobs: Any = ()) -> None:
        self.turns.begin_turn(prompt, blobs)
        self.first_prompt = self.first_prompt or prompt[:MAX_TITLE_CHARS]

    def begin_answer(self, key: str, model: str) -> None:
        self.turns.begin_message(key, model)
        self.models = append_unique(self.models, model)

    def add_text(self, text: str) -> None:
        if text.strip():
            self.turns.add_part(Text(text))

    def add_thought(self, text: str) -> None:
        if text.strip():
            self.turns.add_part(Thinking(text))

    def add_note(self, kind: Any, text: str) -> None:
        if text.strip():
            self.turns.add_note(kind, text)

    def add_call(self, id: str, name: str, input: Any) -> bool:
        """Add a call, or the text of one by which the agent speaks; return whether it is a call."""
        spoken = as_dict(input).get(ANSWERS.get(name, ""))
        if isinstance(spoken, str):
            self.add_text(spoken)
            self.spoken.add(id)
            return False
        self.turns.add_call(id, name or "unknown", input)
        return True

    def add_usage(self, usage: Usage | None, cost: Any) -> None:
        if usage is not None and self.turns.count:
            self.turns.add_usage(usage)
        if (usd := as_amount(cost)) is not None:
            self.cost_usd = (self.cost_usd or 0) + usd

    def count_unknown(self, kind: str) -> None:
        self.unknown = count_type(self.unknown, kind)


def read_messages(messages: Messages, document: dict[str, Any]) -> dict[str, Any]:
    """Read the messages of a session, and return what the document says about it."""
    found = document.get("messages")
    for number, message in enumerate(found if isinstance(found, list) else []):
        if not isinstance(message, dict):
            continue
        blocks = as_blocks(message.get("content"))
        # The id of a message with results grows each time that the session is resumed.
        has_results = any(block.get("type") == "tool_result" for block in blocks)
        id = "" if has_results else as_string(message.get("id"))
        messages.begin_record(parse_time(message.get("ts")), id)
        match message.get("role"):
            case "user":
                _read_user(messages, blocks)
            case "assistant":
                _read_answer(messages, message, blocks, number)
            case role:
                messages.count_unknown(f"message/{role}")
    origin = as_dict(document.get("origin"))
    agent = as_string(document.get("agent"))
    return {"version": origin.get("version"), "agent": "" if agent == "lead" else agent}


def _read_user(messages: Messages, blocks: list[dict[str, Any]]) -> None:
    prompts: list[str] = []
    context: list[str] = []
    for block in blocks:
        match block.get("type"):
            case "text":
                typed = parse_input(as_string(block.get("text")))
                prompts.append(typed.prompt)
                context += typed.context
            case "file":
                context.append(f"{as_string(block.get('path'))}\n{as_string(block.get('content'))}")
            case "tool_result":
                read_result(messages, block)
            case "image" | "document":
                pass
            case kind:
                messages.count_unknown(f"block/{kind}")
    prompt, blobs = "\n".join(filter(None, prompts)), extract_images(blocks)
    if prompt or blobs:
        messages.begin_turn(prompt, blobs)
    for text in context:
        messages.add_note("context", text)


def read_result(messages: Messages, block: dict[str, Any]) -> str:
    """Add the result of a call, and return its text."""
    content = block.get("content")
    text, has_failed = parse_output(content)
    is_error = has_failed or block.get("is_error") is True
    blobs = extract_images(as_blocks(content))
    call_id = as_string(block.get("tool_use_id"))
    if call_id not in messages.spoken:
        messages.turns.add_result(call_id, ToolResult(text, is_error, blobs))
    return text


def _read_answer(
    messages: Messages, message: dict[str, Any], blocks: list[dict[str, Any]], number: int
) -> None:
    metadata = as_dict(message.get("metadata"))
    if metadata.get("displayOnly") is True:
        texts = [as_string(block.get("text")) for block in blocks]
        is_error = metadata.get("displayRole") == "error"
        messages.add_note("error" if is_error else "context", "\n".join(filter(None, texts)))
        return
    info, metrics = as_dict(message.get("modelInfo")), as_dict(message.get("metrics"))
    model = as_string(info.get("id"))
    messages.begin_answer(str(number), model)
    for position, block in enumerate(blocks):
        read_answer_block(messages, block, f"{number}/{position}")
    key = as_string(message.get("id")), parse_time(message.get("ts"))
    usage = parse_metrics(metrics, model, *key)
    messages.add_usage(usage, metrics.get("cost"))


def read_answer_block(messages: Messages, block: dict[str, Any], place: str) -> str:
    """Read a block of an answer that is no text with XML. Return the id of a call."""
    match block.get("type"):
        case "text":
            messages.add_text(as_string(block.get("text")))
        case "thinking":
            messages.add_thought(as_string(block.get("thinking")))
        case "reasoning":
            messages.add_thought(as_string(block.get("text")))
        case "tool_use":
            id = as_string(block.get("id")) or f"#{place}"
            if messages.add_call(id, as_string(block.get("name")), block.get("input")):
                return id
        case "redacted_thinking" | "thoughtSignature" | "image":
            pass
        case kind:
            messages.count_unknown(f"block/{kind}")
    return ""
