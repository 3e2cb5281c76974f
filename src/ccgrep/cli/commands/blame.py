"""ccgrep blame: list the turns that read or changed a file, or that made a commit."""

import os
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import finish_refresh
from ccgrep.cli.filter_options import parse_filters
from ccgrep.errors import UsageError
from ccgrep.ops.blame import blame, blame_line
from ccgrep.ops.commits import BlamedCommit, blame_commits
from ccgrep.output.blame_records import blame_fields, format_blame
from ccgrep.output.commit_names import name_commit
from ccgrep.output.commit_records import commit_fields, commit_lines
from ccgrep.output.json_document import encode_document
from ccgrep.refresh.background import BackgroundRefresh
from ccgrep.text import one_line

_MAX_NAMED = 3


def run(arguments: SimpleNamespace, context: Context, refresh: BackgroundRefresh | None) -> int:
    if (arguments.file is None) == (arguments.commit is None):
        raise UsageError("blame takes either FILE or --commit REV")
    config = context.config()
    filters = parse_filters(arguments, context, config)
    finish_refresh(refresh)
    limit = arguments.limit or 0
    if arguments.commit is not None:
        commits = blame_commits(config, os.curdir, arguments.commit, filters, limit)
        return _print_commits(list(commits), arguments, context)
    if arguments.line is None:
        turns = blame(config, arguments.file, filters, limit)
    else:
        turns = [blame_line(config, arguments.file, arguments.line, filters)]
    if arguments.json:
        fields = [blame_fields(turn) for turn in turns]
        context.write(
            encode_document({"file": arguments.file, "line": arguments.line, "turns": fields})
        )
    else:
        style = context.style_for(arguments.color)
        context.write_lines(format_blame(turn, arguments.full_id, style) for turn in turns)
    if not turns:
        context.warn(f"no turn is known to have read or changed '{one_line(arguments.file)}'")
    return 0 if turns else 1


def _print_commits(
    commits: list[BlamedCommit], arguments: SimpleNamespace, context: Context
) -> int:
    if arguments.json:
        fields = [commit_fields(blamed) for blamed in commits]
        context.write(encode_document({"revisions": arguments.commit, "commits": fields}))
    else:
        style = context.style_for(arguments.color)
        for blamed in commits:
            context.write_lines(commit_lines(blamed, arguments.full_id, style))
    unknown = [name_commit(blamed.commit) for blamed in commits if not blamed.authors]
    if unknown:
        more = len(unknown) - _MAX_NAMED
        names = ", ".join(unknown[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
        context.warn(f"no turn is known to have made {names}")
    return 0 if len(unknown) < len(commits) else 1
