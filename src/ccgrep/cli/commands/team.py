"""ccgrep team: run a team's server."""

from collections.abc import Callable
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.errors import UsageError
from ccgrep.ops import team as ops
from ccgrep.output.json_document import encode_document
from ccgrep.output.team_text import init_lines, status_fields, status_lines
from ccgrep.team import admin
from ccgrep.team.server import Server
from ccgrep.text import one_line

_PARTITIONS = 8

_Action = Callable[[SimpleNamespace, Context, Server, list[str]], None]


def run(arguments: SimpleNamespace, context: Context) -> int:
    word, *rest = arguments.action
    actions: dict[tuple[str, int], _Action] = {
        ("init", 1): _init,
        ("grant", 2): _grant,
        ("revoke", 2): _revoke,
        ("status", 1): _status,
        ("purge", 1): _purge,
    }
    action = actions.get((word, len(rest)))
    if action is None:
        typed = one_line(" ".join(arguments.action))
        raise UsageError(f"invalid arguments '{typed}': see `ccgrep team --help`")
    _check_options(arguments, word)
    action(arguments, context, ops.open_admin(context.config(), rest[0]), rest[1:])
    return 0


def _check_options(arguments: SimpleNamespace, word: str) -> None:
    given = {
        "--shard": (bool(arguments.shard), ("init",)),
        "--partitions": (arguments.partitions is not None, ("init",)),
        "--project": (bool(arguments.project), ("grant", "revoke")),
        "--read-only": (arguments.read_only, ("grant",)),
        "--json": (arguments.json, ("status",)),
    }
    for name, (is_given, words) in given.items():
        if is_given and word not in words:
            raise UsageError(f"{name} has no effect on `team {word}`: leave it out")


def _init(arguments: SimpleNamespace, context: Context, server: Server, _: list[str]) -> None:
    if arguments.shard:
        admin.init_proxy(server, arguments.shard)
        context.write(f"{one_line(server.url)} passes calls to {len(arguments.shard)} servers")
        return
    partitions = _PARTITIONS if arguments.partitions is None else arguments.partitions
    context.write_lines(init_lines(server.url, admin.init(server, partitions)))


def _grant(arguments: SimpleNamespace, context: Context, server: Server, words: list[str]) -> None:
    (person,) = words
    if not arguments.project:
        raise UsageError("name the projects: use --project 'acme-*', or --project '*' for all")
    is_new = admin.grant(server, person, arguments.project, not arguments.read_only)
    may = "search" if arguments.read_only else "search and push to"
    context.write(f"{one_line(person)} may {may} {one_line(', '.join(arguments.project))}")
    if is_new:
        context.write(f"the role is new: give it a password, with `\\password {person}` in psql")


def _revoke(arguments: SimpleNamespace, context: Context, server: Server, words: list[str]) -> None:
    (person,) = words
    count = admin.revoke(server, person, arguments.project or [])
    context.write(f"{count} {'right' if count == 1 else 'rights'} of {one_line(person)} revoked")


def _status(arguments: SimpleNamespace, context: Context, server: Server, _: list[str]) -> None:
    status = admin.status(server)
    if arguments.json:
        context.write(encode_document(status_fields(status)))
    else:
        context.write_lines(status_lines(status, context.now_ms))


def _purge(_: SimpleNamespace, context: Context, server: Server, __: list[str]) -> None:
    admin.purge(server)
    context.write("rewrote all tables without the forgotten sessions")
