"""The requests of VS Code's chat sessions, and functions that extract their content.

Any field of a request may hold any value, so every field is checked.
"""

import os
import re
from typing import Any, NamedTuple

from ccgrep.sources.values import as_dict, as_dicts, as_string, parse_input

_FILE = "file://"
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")
_MAX_DEPTH = 64
_PREFIX = "copilot/"
_CANCELLED = 2  # of `modelState`
IGNORED_KINDS = frozenset(
    """
    undoStop codeblockUri command confirmation warning progressMessage progressTask
    progressTaskSerialized references usedContext codeCitation elicitation extensions pullRequest
    mcpServersStarting prepareToolInvocation multiDiffData notebookEdit notebookEditGroup
    elicitationSerialized todoList treeData hook questionCarousel clearToPreviousToolInvocation
    workspaceEdit externalEdit externalToolInvocationUpdate markdownVuln disabledClaudeHooks
    """.split()
)
"""Parts of a response that say nothing."""
INVOCATIONS = ("toolInvocationSerialized", "toolInvocation")
_LAUNCH = "ubagent"
"""What the names of all tools have that start a sub-agent."""


class Request(NamedTuple):
    """A request, and where its parts are.

    `rounds` has the calls of the model, and what it said before each of them.
    """

    id: str
    fields: dict[str, Any]
    result: dict[str, Any]
    metadata: dict[str, Any]
    rounds: list[dict[str, Any]]
    model: str
    is_cancelled: bool


class Agent(NamedTuple):
    """A sub-agent: the part of a response that shows its call, and what it did."""

    launch: dict[str, Any]
    parts: list[dict[str, Any]]


def parse_request(fields: dict[str, Any]) -> Request:
    """Return a request with its parts."""
    result = as_dict(fields.get("result"))
    metadata = as_dict(result.get("metadata"))
    model = as_string(metadata.get("resolvedModel")) or as_string(fields.get("modelId"))
    state = as_dict(fields.get("modelState"))
    return Request(
        as_string(fields.get("requestId")),
        fields,
        result,
        metadata,
        as_dicts(metadata.get("toolCallRounds")),
        model.removeprefix(_PREFIX),
        fields.get("isCanceled") is True or state.get("value") == _CANCELLED,
    )


def split_agents(response: Any) -> tuple[list[dict[str, Any]], list[Agent]]:
    """Return the parts of a response that are the main agent's, and its sub-agents.

    The calls of a sub-agent name the call that started it. In 2025 they only said that they were
    those of a sub-agent. The edits that follow a call belong to the same agent.
    """
    own: list[dict[str, Any]] = []
    agents: dict[str, Agent] = {}
    launch, current = "", ""
    for part in as_dicts(response):
        kind = part.get("kind")
        if kind in INVOCATIONS:
            starter = launch if part.get("fromSubAgent") is True else ""
            current = as_string(part.get("subAgentInvocationId")) or starter
            current = current if current in agents else ""
            if not current and _LAUNCH in as_string(part.get("toolId")):
                launch = as_string(part.get("toolCallId"))
                agents[launch] = Agent(part, [])
        if current and kind in (*INVOCATIONS, "textEditGroup"):
            agents[current].parts.append(part)
        else:
            own.append(part)
    return own, list(agents.values())


def find_launches(request: Request) -> list[dict[str, Any]]:
    """Return the description, prompt and result of each call of a sub-agent, in their order."""
    results = as_dict(request.metadata.get("toolCallResults"))
    launches = []
    for call in (call for one in request.rounds for call in as_dicts(one.get("toolCalls"))):
        if _LAUNCH in as_string(call.get("name")):
            task = as_dict(parse_input(call.get("arguments")))
            result = as_dict(results.get(as_string(call.get("id"))))
            said = "".join(read_texts(result.get("content")))
            launches.append({**task, "result": said})
    return launches


def read_markdown(part: dict[str, Any]) -> str:
    """Return the text of a part of a response, if it is one."""
    kind = part.get("kind")
    if kind is None:
        return read_message(part)
    if kind == "markdownContent":
        return read_message(part.get("content", part.get("value")))
    if kind == "inlineReference":
        reference = part.get("inlineReference")
        location = reference.get("location", reference) if isinstance(reference, dict) else None
        uri = location.get("uri", location) if isinstance(location, dict) else None
        return as_string(part.get("name")) or os.path.basename(read_path(uri))
    return ""


def read_message(message: Any) -> str:
    """Return a text of VS Code, which is a string or an object with one."""
    return as_string(message.get("value")) if isinstance(message, dict) else as_string(message)


def read_texts(content: Any, depth: int = 0) -> list[str]:
    """Return the texts in the content of a result, which may be a tree of nodes."""
    if isinstance(content, str):
        return [content]
    if depth > _MAX_DEPTH:
        return []
    if isinstance(content, list):
        return [text for one in content for text in read_texts(one, depth + 1)]
    if not isinstance(content, dict):
        return []
    value = content.get("value", content.get("text"))
    found = [value] if isinstance(value, str) else []
    node = value.get("node") if isinstance(value, dict) else content.get("node")
    below = node.get("children") if isinstance(node, dict) else content.get("children")
    return found + read_texts(below, depth + 1) if isinstance(below, list) else found


def read_path(uri: Any) -> str:
    """Return the path of a `file:` URI, which is a text or an object."""
    if isinstance(uri, dict):
        path = uri.get("fsPath") or uri.get("path")
        return as_string(path) if uri.get("scheme", "file") == "file" else ""
    if not isinstance(uri, str) or not uri.startswith(_FILE):
        return ""
    path = uri[uri.find("/", len(_FILE)) :].encode("utf-8", "surrogatepass")
    return _ESCAPED.sub(lambda match: bytes.fromhex(match.group(1).decode()), path).decode(
        "utf-8", "replace"
    )
