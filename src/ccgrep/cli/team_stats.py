"""What `ccgrep stats -R` prints."""

from types import SimpleNamespace

from ccgrep.cli.commands.stats import line_limit
from ccgrep.cli.context import Context
from ccgrep.cli.filter_options import parse_filters
from ccgrep.errors import UsageError
from ccgrep.ops import team
from ccgrep.output.json_document import encode_document
from ccgrep.output.team_text import stats_fields, stats_lines


def print_team_stats(arguments: SimpleNamespace, context: Context, kind: str) -> int:
    if kind:
        raise UsageError(f"a team's server does not count {kind}: leave out -R or {kind}")
    config = context.config()
    filters = parse_filters(arguments, context, config)
    owners = tuple(arguments.owner or ())
    found = team.stats(config, arguments.remote, owners, filters)
    limit = line_limit(arguments, context.is_terminal and not arguments.json)
    if arguments.json:
        context.write(encode_document(stats_fields(found, limit)))
        return 0
    context.write_lines(stats_lines(found, limit))
    if not arguments.quiet:
        context.warn("a team's server counts neither calls nor tokens; its days are in UTC")
    return 0
