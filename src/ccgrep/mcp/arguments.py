"""The arguments of the four tools. Their JSON schema is what a client sees of them.

Names, defaults and descriptions depend on nothing that was indexed.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from ccgrep.kinds import TextKind
from ccgrep.sources.registry import SOURCES

MAX_LIMIT = 500

if TYPE_CHECKING:
    _SourceName = str
else:
    _SourceName = Literal[
        tuple(sorted({n for s in SOURCES for n in (s.name, s.name.replace("_", "-"))}))
    ]
_STRING = {"type": "string"}  # Some model APIs refuse an enum without a type.
_Limit = Annotated[int, Meta(ge=1, le=MAX_LIMIT)]
_Project = Annotated[str | None, Meta(description="Only projects whose path contains this text")]
_Since = Annotated[
    str | None,
    Meta(
        description="Only turns from this time on: an age (30m, 24h, 7d, 2w), yesterday, a date "
        "(2026-01-15) or a time (2026-01-15T10:30)"
    ),
]
_Until = Annotated[str | None, Meta(description="Only turns up to this time, written like since")]
_Tool = Annotated[
    str | None,
    Meta(description="Only turns that used this tool, such as Bash; any: that used some tool"),
]
_Source = Annotated[
    Annotated[_SourceName, Meta(extra_json_schema=_STRING)] | None,
    Meta(description="Only conversations with this agent"),
]
_Branch = Annotated[str | None, Meta(description="Only turns on this git branch")]
_Cursor = Annotated[
    str | None,
    Meta(description="next_cursor of the previous reply; repeat the other arguments unchanged"),
]
_SessionId = Annotated[str, Meta(description="Session id, or a unique prefix of it")]
_Type = Annotated[TextKind, Meta(extra_json_schema=_STRING)]
_Types = Annotated[
    list[_Type] | _Type | None,
    Meta(
        description="Search only what the user or the assistant wrote, the input and output of "
        "tools (tool), or thinking. By default all, and what was written ranks first"
    ),
]
_Part = Annotated[Literal["tools", "outputs", "thinking"], Meta(extra_json_schema=_STRING)]
_Include = Annotated[
    list[_Part] | _Part | None,
    Meta(
        description="What else to return of each turn: the complete input of tool calls (tools), "
        "their output (outputs), the agent's thinking (thinking)"
    ),
]
_IncludeSelf = Annotated[
    bool, Meta(description="Include the calling session, and ccgrep's output in others")
]


class _Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    pass


class SearchArguments(_Arguments, frozen=True):
    query: Annotated[
        str,
        Meta(
            description="Words or a question. Rare words, such as names and the text of an error, "
            'find most. "Quoted words" form a phrase'
        ),
    ]
    limit: _Limit = 10
    session_id: Annotated[
        str | None, Meta(description="Only turns of this session: its id, or a unique prefix of it")
    ] = None
    project: _Project = None
    since: _Since = None
    until: _Until = None
    branch: _Branch = None
    type: _Types = None
    tool: _Tool = None
    source: _Source = None
    mode: Annotated[
        Literal["auto", "lexical", "semantic", "hybrid"],
        Meta(
            extra_json_schema=_STRING,
            description="Match words (lexical), meaning (semantic), or both (hybrid); auto is "
            "hybrid if turns are embedded, else lexical",
        ),
    ] = "auto"
    include_self: _IncludeSelf = False
    cursor: _Cursor = None


class ListArguments(_Arguments, frozen=True):
    project: _Project = None
    limit: _Limit = 50
    since: _Since = None
    until: _Until = None
    branch: _Branch = None
    tool: _Tool = None
    source: _Source = None
    subagents: Annotated[
        Annotated[Literal["fold", "include", "exclude", "only"], Meta(extra_json_schema=_STRING)]
        | None,
        Meta(
            description="Sub-agents: count them with the session that started them (fold, the "
            "default), list them too (include), leave them out (exclude), or list only them (only)"
        ),
    ] = None
    include_self: Annotated[bool, Meta(description="Include the calling session")] = False
    cursor: _Cursor = None


class ReadTurnArguments(_Arguments, frozen=True):
    session_id: _SessionId
    turn_number: Annotated[int, Meta(description="Number of the turn, from 0")]
    include: _Include = None
    cursor: _Cursor = None


class ReadConversationArguments(_Arguments, frozen=True):
    session_id: _SessionId
    offset: Annotated[int, Meta(ge=0, description="Number of the first turn, from 0")] = 0
    limit: _Limit = 10
    include: _Include = None
    cursor: _Cursor = None


class Tool(NamedTuple):
    arguments: type[Struct]
    description: str


TOOLS = {
    "search_conversations": Tool(
        SearchArguments,
        "Search this user's past conversations with coding agents, in all projects by default. "
        "Returns matching turns, best first. A turn is one prompt and all that the agent did until "
        "the next. Read a turn with read_turn.",
    ),
    "list_conversations": Tool(
        ListArguments,
        "List this user's past conversations with coding agents: title, project and times, most "
        "recently active first. To find a subject, use search_conversations.",
    ),
    "read_turn": Tool(
        ReadTurnArguments,
        "Read one turn of a past conversation: prompt, answer and a summary of each tool call. "
        'With include=["outputs"], also what the tools returned.',
    ),
    "read_conversation": Tool(
        ReadConversationArguments,
        "Read the turns of a past conversation in order, from offset on.",
    ),
}


def input_schema(arguments: type[Struct]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments."""
    _, definitions = msgspec.json.schema_components([arguments])
    schema: dict[str, Any] = definitions[arguments.__name__]
    return {name: value for name, value in schema.items() if name != "title"}
