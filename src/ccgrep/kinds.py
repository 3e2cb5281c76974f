"""The literal types that several rooms share. Start-up imports this module, so it stays light."""

from typing import Literal

SourceName = str
"""The name of a source in `sources/registry.py`, of a plug-in, or of imported sessions."""
SessionKind = Literal["main", "subagent", "worker", "document"]
NoteKind = Literal[
    "summary",  # of everything before a compaction
    "command",  # a slash command and its output
    "context",  # added to a prompt by the client: IDE selection, skill, file
    "notification",  # of a task, a peer or a hook
    "interrupted",
    "error",  # of the API, not of a tool
    "machine",  # a prompt that the client gave to a worker
]
Inclusion = Literal["include", "only", "exclude"]
"""Whether a search includes sub-agents or documents, or only them."""
TextKind = Literal["user", "assistant", "tool", "thinking"]
Mode = Literal["words", "literal", "regex", "semantic", "hybrid"]
DefaultMode = Literal["auto", "words", "semantic", "hybrid"]
Tier = Literal["all", "most", "exact", "semantic", "hybrid"]
Order = Literal["score", "time", "oldest"]
"""The order of hits: the best, the newest or the oldest first."""
Level = Literal["whole", "discussion"]
TitleOrigin = Literal[
    "prompt",  # guessed from the first prompt
    "summary",  # from a file beside the transcript, or from another transcript
    "client",  # in the transcript
    "name",  # given by the user, in a file beside the transcript
]
"""Where a title comes from, the weakest first."""
FileKind = Literal[
    "session",
    "history",
    "sessions_index",
    "thread_names",  # Codex's session_index.jsonl
    "document",  # project memory or a plan
    "desktop_session",  # Claude Desktop's local_*.json
    "codex_state",  # an SQLite file or its WAL
    "codex_history",  # likewise
    "database",  # an SQLite file that holds sessions, or its WAL
]
