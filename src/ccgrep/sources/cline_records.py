"""The messages of Cline and Roo Code, and functions that extract their content.

Any field of a message may hold any value, so every field is checked. Early versions had no tool
calls of the API: the model wrote them as XML into its text. The client answered with a text that
begins with `[tool for 'argument'] Result:`. Cline 3 still did so when the calls were of the API.
"""

from typing import Any, NamedTuple

import msgspec

from ccgrep.lazy_re import compile_pattern
from ccgrep.model import Blob, Usage
from ccgrep.sources.values import as_count, as_dict, as_string, block_blob, usage_key

ANSWERS = {
    "attempt_completion": "result",
    "plan_mode_respond": "response",
    "ask_followup_question": "question",
    "submit_and_exit": "summary",
}
"""The tools by which the agent speaks to the user, and the argument with the text."""
_XML_TOOLS = (
    "execute_command read_file write_to_file replace_in_file apply_diff insert_content"
    " search_and_replace search_files list_files list_code_definition_names browser_action"
    " use_mcp_tool access_mcp_resource ask_followup_question plan_mode_respond attempt_completion"
    " new_task switch_mode codebase_search update_todo_list web_fetch condense fetch_instructions"
    " load_mcp_documentation new_rule thinking"
).split()
_OPENING = rf"<({'|'.join(_XML_TOOLS)})>"
_PARAMETER = r"<([a-z_]{1,40})>"
_LONG_PARAMETERS = frozenset(["content", "diff", "result", "arguments"])
"""Parameters whose text may have tags of its own: they end at the last closing tag."""
_RESULT = r"(?s)\[([a-z_]{1,60})(?: (?:for|to|in|in directory)\b.*?)?\] Result:\n*(.*)"
_NOT_RUN = r"(?s)Tool \[([a-z_]{1,60})\] was not executed\b.*"
_REMINDERS = ("# TODO LIST ", "# task_progress ")
_TYPED = r"(?s)<(task|feedback|answer|user_message)>\n?(.*?)\n?</\1>"
_DIRECTORY = r"# Current (?:Working|Workspace) Directory \(([^\n]+?)\) Files"
_MODEL = r"<model>([^<\n]{1,100})</model>"
_NOTICE = r"(?s)<mode_notice>.*?</mode_notice>"
_INPUT = r"(?s)\s*<user_input\b[^>]*>(.*?)</user_input>(.*)"
_COMMAND = r'(?s)\s*<user_command\b[^>]*\bslash="([^"\n]*)"[^>]*>(.*?)</user_command>(.*)'
_FAILURES = (
    "The tool execution failed with the following error",
    "The user denied this operation",
    "Error: ",
    "Tool [",
)


class Typed(NamedTuple):
    """What the user typed, and what the client added to it."""

    prompt: str
    context: tuple[str, ...] = ()


class XmlCall(NamedTuple):
    """A tool call that the model wrote into its text."""

    name: str
    input: dict[str, str]


def as_blocks(content: Any) -> list[dict[str, Any]]:
    """Return the blocks of a message, whose content may be a string."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict)]


def extract_images(blocks: list[dict[str, Any]]) -> tuple[Blob, ...]:
    images = (block for block in blocks if block.get("type") in ("image", "document"))
    return tuple(filter(None, map(block_blob, images)))


def parse_input(text: str) -> Typed:
    """Separate what the user typed from the tags that the SDK's clients put around it."""
    text = compile_pattern(_NOTICE).sub("", text)
    if match := compile_pattern(_COMMAND).fullmatch(text):
        context = (match.group(2).strip(), match.group(3).strip())
        return Typed(f"/{match.group(1)}", tuple(filter(None, context)))
    if match := compile_pattern(_INPUT).fullmatch(text):
        rest = match.group(2).strip()
        return Typed(match.group(1).strip(), (rest,) if rest else ())
    return Typed(text.strip())


def find_typed(text: str) -> list[str]:
    """Return what the user typed, in a text that an extension put together."""
    return [m.group(2).strip() for m in compile_pattern(_TYPED).finditer(text)]


def is_environment(text: str) -> bool:
    return text.lstrip().startswith("<environment_details>")


def parse_environment(text: str) -> tuple[str, str]:
    """Return the working directory and the model in a description of the environment."""
    directory = compile_pattern(_DIRECTORY).search(text)
    model = compile_pattern(_MODEL).search(text)
    return directory.group(1) if directory else "", model.group(1) if model else ""


def parse_result_header(text: str) -> tuple[str, str] | None:
    """Return the tool and the text of a result, or None if the text is not the start of one."""
    if match := compile_pattern(_RESULT).fullmatch(text):
        return match.group(1), match.group(2)
    match = compile_pattern(_NOT_RUN).fullmatch(text)
    return (match.group(1), text) if match else None


def is_reminder(text: str) -> bool:
    """Return whether the client added a text to results to remind the model of its plan."""
    return text.lstrip().startswith(_REMINDERS)


def is_failure(text: str) -> bool:
    return text.startswith(_FAILURES)


def split_calls(text: str) -> list[str | XmlCall]:
    """Return the texts and the calls in an answer that has XML instead of calls of the API."""
    parts: list[str | XmlCall] = []
    while match := compile_pattern(_OPENING).search(text):
        name = match.group(1)
        end = text.find(f"</{name}>", match.end())
        if name in ("write_to_file", "replace_in_file", "apply_diff"):
            end = text.rfind(f"</{name}>")
        body = text[match.end() : end] if end >= 0 else text[match.end() :]
        parts.append(text[: match.start()].strip())
        parts.append(XmlCall(name, {"": body.strip()} if name == "thinking" else _parse_xml(body)))
        text = text[end + len(name) + 3 :] if end >= 0 else ""
    return [part for part in (*parts, text.strip()) if part]


def _parse_xml(body: str) -> dict[str, str]:
    parameters: dict[str, str] = {}
    start = 0
    while match := compile_pattern(_PARAMETER).search(body, start):
        name, closing = match.group(1), f"</{match.group(1)}>"
        find = body.rfind if name in _LONG_PARAMETERS else body.find
        end = find(closing, match.end())
        value = body[match.end() : end] if end >= 0 else body[match.end() :]
        parameters[name] = value.removeprefix("\n").removesuffix("\n")
        if end < 0:
            break
        start = end + len(closing)
    return parameters


def parse_output(content: Any) -> tuple[str, bool]:
    """Return the text of a tool's result, and whether the tool failed.

    The tools of the SDK return one item or a list of them, each with its success. A single item may
    be JSON text.
    """
    if isinstance(content, str):
        item = _decode(content) if content.startswith('{"query"') else None
        return _join_items([item]) if isinstance(item, dict) else (content, is_failure(content))
    items = content if isinstance(content, list) else [content]
    if any(isinstance(item, dict) and "query" in item for item in items):
        return _join_items(items)
    texts = [as_string(block.get("text")) for block in as_blocks(items)]
    text = "\n".join(filter(None, texts))
    return text, is_failure(text)


def _join_items(items: list[Any]) -> tuple[str, bool]:
    found = [as_dict(item) for item in items]
    texts = [_item_text(item) for item in found]
    return "\n".join(filter(None, texts)), any(item.get("success") is False for item in found)


def _item_text(item: dict[str, Any]) -> str:
    result, error = item.get("result"), as_string(item.get("error"))
    text = (
        result
        if isinstance(result, str)
        else "\n".join(as_string(block.get("text")) for block in as_blocks(result))
    )
    return text if not error or error in text else "\n".join(filter(None, (text, error)))


def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def decode_fields(text: Any) -> dict[str, Any]:
    """Return the JSON object in a text, empty if there is none."""
    return as_dict(_decode(text)) if isinstance(text, str) else {}


def parse_metrics(metrics: Any, model: str, *key: Any) -> Usage | None:
    """Return the tokens of an answer. Its input counts the cached ones too."""
    fields = as_dict(metrics)
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    input, output, read, write = (as_count(fields.get(name)) for name in names)
    if not any((input, output, read, write)):
        return None
    if input is not None:
        input = max(input - (read or 0) - (write or 0), 0)
    return Usage(usage_key("cline", *key), model, input, output, read, write)


def parse_request(fields: dict[str, Any], model: str, *key: Any) -> Usage | None:
    """Return the tokens of a request, as the extensions note them in `ui_messages.json`."""
    names = ("tokensIn", "tokensOut", "cacheReads", "cacheWrites")
    counts = [as_count(fields.get(name)) for name in names]
    return Usage(usage_key("cline", *key), model, *counts) if any(counts) else None


def parse_tokens(tokens: Any, model: str, *key: Any) -> Usage | None:
    """Return the tokens of an answer as Cline 3 noted them beside it, without a cost."""
    fields = as_dict(tokens)
    counts = [as_count(fields.get(name)) for name in ("prompt", "completion", "cached")]
    return Usage(usage_key("cline", *key), model, *counts) if any(counts) else None
