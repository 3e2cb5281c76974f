"""Words with a closed set of values. Imports nothing heavy: start-up needs some of them."""

from typing import Literal

SourceName = Literal["claude_code", "codex"]
SessionKind = Literal["main", "subagent", "worker"]
NoteKind = Literal[
    "summary",  # a compaction's paraphrase of everything before it
    "command",  # slash command machinery and its output
    "context",  # what the client put beside a prompt: IDE selection, skill, file
    "notification",  # from a task, a peer or a hook
    "interrupted",
    "error",  # the API's, not a tool's
    "machine",  # a prompt that a machine worker got
]
Subagents = Literal["include", "only", "exclude"]
TextKind = Literal["user", "assistant", "tool", "thinking"]
Mode = Literal["words", "literal", "regex", "semantic", "hybrid"]
Tier = Literal["all", "most", "exact", "semantic", "hybrid"]
Level = Literal["whole", "discussion"]
FileKind = Literal["session", "history", "sessions_index"]
