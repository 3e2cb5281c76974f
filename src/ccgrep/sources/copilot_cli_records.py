"""The events of Copilot CLI, functions that extract their content, and the reader's state.

Any field of an event may hold any value, so every field is `Any` until it has been checked.
"""

import json
import re
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.kinds import NoteKind, SessionKind
from ccgrep.model import Blob, ToolResult, Usage
from ccgrep.sources.values import (
    as_count,
    as_dict,
    as_dicts,
    as_string,
    base64_blob,
    parse_input,
    usage_key,
)

IGNORED_TYPES = frozenset(
    """
    assistant.fusion_phase_activity assistant.fusion_phase_completed assistant.fusion_phase_failed
    assistant.fusion_phase_started assistant.idle assistant.intent assistant.message_delta
    assistant.message_start assistant.reasoning_delta assistant.server_tool_progress
    assistant.streaming_delta assistant.tool_call_delta assistant.turn_end assistant.turn_start
    assistant.usage auto_mode_switch.completed auto_mode_switch.requested capabilities.changed
    command.completed command.execute command.queued commands.changed elicitation.completed
    elicitation.requested exit_plan_mode.completed exit_plan_mode.requested external_tool.completed
    external_tool.requested factory.run_settled factory.run_started factory.run_updated hook.end
    hook.progress hook.start mcp.headers_refresh_completed mcp.headers_refresh_required
    mcp.oauth_completed mcp.oauth_required mcp.prompts.list_changed mcp.resources.list_changed
    mcp.tools.list_changed mcp_app.tool_call_complete pending_messages.modified sampling.completed
    sampling.requested session.auto_mode_resolved session.auto_tier_recommendation
    session.auto_tier_switch_failed session.autopilot_objective_changed
    session.background_tasks_changed session.binary_asset session.canvas.closed
    session.canvas.opened session.canvas.recorded session.canvas.registry_changed
    session.canvas.removed session.canvas.unavailable session.compaction_start
    session.completion_receipt session.context_cleared session.custom_agents_updated
    session.custom_notification session.extensions.attachments_pushed session.extensions_loaded
    session.fusion_completed session.fusion_resolved session.fusion_route_failed
    session.fusion_route_started session.idle session.managed_settings_enforced
    session.managed_settings_resolved session.mcp_server_needs_reconnect session.mcp_server_removed
    session.mcp_server_status_changed session.mcp_servers_loaded session.mode_changed
    session.mode_notice_delivered session.permissions_changed session.plan_changed
    session.remote_steerable_changed session.schedule_cancelled session.schedule_created
    session.schedule_rearmed session.session_limits_changed session.skills_loaded
    session.task_complete session.todos_changed session.tools_updated session.truncation
    session.usage_checkpoint session.usage_info session.warning session.workspace_file_changed
    session_limits_exhausted.completed session_limits_exhausted.requested subagent.completed
    subagent.configured subagent.deselected subagent.selected system.message
    tool.execution_partial_result tool.execution_progress tool_search.activated ui.ephemeral_query
    user_input.completed user_input.requested
    """.split()
)
"""Events without anything that a person or the agent said: the tools' results repeat the rest."""
READ_TYPES = frozenset(
    """
    user.message assistant.message assistant.reasoning tool.execution_start
    tool.execution_complete tool.user_requested session.usage_record session.compaction_complete
    session.error subagent.failed session.handoff abort skill.invoked system.notification
    session.model_change session.info
    """.split()
)
"""Events of an agent, which may be the main one or a sub-agent."""
IGNORED_FAMILIES = ("model.", "permission.")

_INJECTED: tuple[tuple[str, NoteKind], ...] = (
    ("skill-", "context"),
    ("agent-", "notification"),
    ("autopilot", "machine"),
)
"""The sources of user messages that nobody typed, and the notes they become."""
_EXIT_CODE = re.compile(r"<(?:shellId: \S{1,40} completed|exited) with exit code (-?\d{1,9})>\s*$")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FORKED_FROM = re.compile(r'Forked from ".*" \(([0-9a-fA-F-]{36})\) as "', re.DOTALL)
_ASSET = "sha256:"
_TITLE_LINE = re.compile(r"(?m)^(name|summary):[ \t]*(.*)$")
_BLOCK_LINE = re.compile(r"\n(?:[ \t]+(.*)|[ \t]*(?=\n|\Z))")


class Event(Struct, gc=False):
    """One line of `events.jsonl`."""

    type: Any = None
    data: Any = None
    id: Any = None
    timestamp: Any = None
    agentId: Any = None  # noqa: N815 - the client's name
    ephemeral: Any = None

    @staticmethod
    def is_record(value: dict[str, Any]) -> bool:
        return "type" in value and "data" in value

    def fields(self) -> dict[str, Any]:
        return self.data if isinstance(self.data, dict) else {}


class State(Struct, frozen=True, omit_defaults=True):
    """What earlier events said that later ones depend on."""

    kind: SessionKind = "main"
    parent: str = ""
    forked_from: str = ""
    cwd: str = ""  # of the session
    turn_cwd: str = ""
    branch: str = ""
    model: str = ""
    models: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    title: str = ""  # if the events have one
    first_prompt: str = ""
    message: str = ""  # the key of the last message
    thought: str = ""  # the last one, which may be written twice
    unknown_types: dict[str, int] = {}
    has_records: bool = False  # of the tokens of each call
    has_outputs: bool = False  # of the tokens of each answer, since the client was started


def is_ignored(kind: Any) -> bool:
    return isinstance(kind, str) and (kind in IGNORED_TYPES or kind.startswith(IGNORED_FAMILIES))


def classify_message(data: dict[str, Any]) -> NoteKind | None:
    """Return the note that a user message becomes, or None if a person typed it."""
    if data.get("isAutopilotContinuation") is True:
        return "machine"
    source = as_string(data.get("source"))
    return next((note for prefix, note in _INJECTED if source.startswith(prefix)), None)


def extract_attachments(data: dict[str, Any]) -> tuple[tuple[Blob, ...], list[str]]:
    """Return the images and documents of a prompt, and the files and selections it refers to."""
    blobs: list[Blob] = []
    texts: list[str] = []
    for attachment in as_dicts(data.get("attachments")):
        path = as_string(attachment.get("path")) or as_string(attachment.get("filePath"))
        if blob := extract_blob(attachment):
            blobs.append(blob)
        elif text := "\n".join(filter(None, (path, as_string(attachment.get("text"))))):
            texts.append(text)
    return tuple(blobs), texts


def extract_blob(value: dict[str, Any]) -> Blob | None:
    """Return an image or document, whose bytes are here or in an asset that is named by hash."""
    media_type, asset = as_string(value.get("mimeType")), as_string(value.get("assetId"))
    if isinstance(value.get("data"), str):
        return base64_blob(media_type, value["data"])
    if not asset.startswith(_ASSET):
        return None
    return Blob(media_type, as_count(value.get("byteLength")) or 0, asset.removeprefix(_ASSET))


def extract_result(data: dict[str, Any]) -> ToolResult:
    """Return what a tool returned. Copilot calls a command that failed a success, ccgrep not."""
    result, error = data.get("result"), data.get("error")
    shell = data.get("shellExecution")
    text = as_string(result)
    blobs: tuple[Blob, ...] = ()
    if isinstance(result, dict):
        text = as_string(result.get("content")) or as_string(result.get("detailedContent"))
        found = map(extract_blob, as_dicts(result.get("binaryResultsForLlm")))
        blobs = tuple(filter(None, found))
    if isinstance(error, dict):
        text = text or as_string(error.get("message"))
    code = shell.get("exitCode") if isinstance(shell, dict) else None
    if code is None and (match := _EXIT_CODE.search(text[-80:])):
        code = int(match.group(1))
    return ToolResult(text, data.get("success") is False or code not in (0, None), blobs)


def extract_calls(data: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """Return the id, name and input of each call of a message."""
    return [
        (
            as_string(request.get("toolCallId")),
            as_string(request.get("name")) or "unknown",
            parse_input(request.get("arguments")),
        )
        for request in as_dicts(data.get("toolRequests"))
    ]


def read_usage(usage: Any, call_id: str, model: str) -> Usage | None:
    """Return the tokens of one API call. Copilot's input includes what the cache held."""
    if not isinstance(usage, dict):
        return None
    read, written = (as_count(usage.get(f"cache{name}Tokens")) for name in ("Read", "Write"))
    total = as_count(usage.get("inputTokens"))
    spent = None if total is None else max(total - (read or 0) - (written or 0), 0)
    key = usage_key("copilot", as_string(usage.get("apiCallId")) or call_id)
    name = as_string(usage.get("model")) or model
    return Usage(key, name, spent, as_count(usage.get("outputTokens")), read, written)


def read_metrics(metrics: Any, event_id: str, has_outputs: bool) -> list[Usage]:
    """Return the tokens of each model, as the client notes them when it ends.

    With `has_outputs`, the answers already have those of the output.
    """
    found = []
    for model, fields in as_dict(metrics).items():
        usage = as_dict(fields).get("usage")
        if tokens := read_usage(usage, f"{event_id}/{model}", model):
            found.append(replace(tokens, output=None) if has_outputs else tokens)
    return found


def find_origin(message: str) -> str:
    """Return the id of the session that a fork names as its origin, or an empty string."""
    match = _FORKED_FROM.match(message)
    return match.group(1) if match else ""


def read_title(workspace: bytes) -> str:
    """Return the title in `workspace.yaml`: the `name`, or the `summary` of older versions."""
    text = workspace.decode("utf-8", "replace").replace("\r\n", "\n")
    found = {m.group(1): _read_scalar(m.group(2), text[m.end() :]) for m in _titles(text)}
    return found.get("name") or found.get("summary") or ""


def _titles(text: str) -> list[re.Match[str]]:
    return list(_TITLE_LINE.finditer(text))


def _read_scalar(value: str, rest: str) -> str:
    """Return a YAML scalar: plain, quoted, or a block on the indented lines that follow."""
    value = value.strip()
    if value[:1] in ("|", ">"):
        lines, end = [], 0
        while match := _BLOCK_LINE.match(rest, end):
            lines.append(match.group(1) or "")
            end = match.end()
        return "\n".join(lines).strip()
    if value[:1] == value[-1:] == "'" and len(value) > 1:
        return value[1:-1].replace("''", "'")
    if value[:1] == '"':
        try:
            return as_string(json.loads(value))
        except ValueError:
            return value.strip('"')
    return value
