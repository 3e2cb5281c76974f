"""ccgrep notes: show or write git notes that name the turns behind commits."""

import os
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import finish_refresh
from ccgrep.ops.commits import blame_commits, write_note
from ccgrep.output.commit_names import name_commit
from ccgrep.output.commit_records import commit_fields, note_text
from ccgrep.output.formatting import pluralize
from ccgrep.output.json_document import encode_document
from ccgrep.refresh.background import BackgroundRefresh
from ccgrep.search.request import Filters

_DEFAULT_LIMIT = 100


def run(arguments: SimpleNamespace, context: Context, refresh: BackgroundRefresh | None) -> int:
    finish_refresh(refresh)
    limit = _DEFAULT_LIMIT if arguments.limit is None else arguments.limit
    found = blame_commits(context.config(), os.curdir, arguments.rev, Filters(), limit)
    commits = [blamed for blamed in found if blamed.authors]
    for blamed in commits:
        if arguments.write:
            write_note(os.curdir, blamed.commit.sha, note_text(blamed))
        if not arguments.json:
            context.write(name_commit(blamed.commit))
            context.write_lines(f"    {line}" for line in note_text(blamed).split("\n"))
    if arguments.json:
        fields = [{**commit_fields(blamed), "note": note_text(blamed)} for blamed in commits]
        context.write(encode_document({"commits": fields}))
    if not commits:
        context.warn("no turn is known to have made one of these commits")
    elif arguments.write:
        context.warn(f"wrote {pluralize(len(commits), 'note')}: run `git log --notes=ccgrep`")
    return 0 if commits else 1
