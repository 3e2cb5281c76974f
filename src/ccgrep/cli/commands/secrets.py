"""ccgrep secrets: find secrets in the store."""

from itertools import islice
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import finish_refresh, make_step_bar
from ccgrep.cli.filter_options import parse_filters
from ccgrep.cli.progress import shared_bar
from ccgrep.ops.secrets import FoundSecret, find_secrets
from ccgrep.output.json_document import encode_document, secrets_fields
from ccgrep.output.report_text import secret_line, secrets_note
from ccgrep.refresh.background import BackgroundRefresh


def run(arguments: SimpleNamespace, context: Context, refresh: BackgroundRefresh | None) -> int:
    config = context.config()
    filters = parse_filters(arguments, context, config)
    finish_refresh(refresh)
    found: list[FoundSecret] = []
    on_step = make_step_bar(context, arguments.quiet)
    with shared_bar() as bar:
        for secret in islice(find_secrets(config, filters, on_step), arguments.limit or None):
            found.append(secret)
            if not arguments.json:
                bar.close()
                context.write(secret_line(secret, arguments.full_id))
    if arguments.json:
        context.write(encode_document(secrets_fields(found)))
    if not arguments.quiet:
        context.warn(secrets_note(found) if found else "no secret found")
    return 0 if found else 1
