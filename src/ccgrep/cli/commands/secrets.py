"""ccgrep secrets: find secrets in the store."""

from itertools import islice
from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import finish_refresh
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

    def on_turn(done: int, total: int) -> None:
        if context.is_error_terminal and not arguments.quiet:
            shared_bar().count(done, total, "scanning for secrets")

    try:
        for secret in islice(find_secrets(config, filters, on_turn), arguments.limit or None):
            found.append(secret)
            if not arguments.json:
                shared_bar().close()
                context.write(secret_line(secret, arguments.full_id))
    finally:
        shared_bar().close()
    if arguments.json:
        context.write(encode_document(secrets_fields(found)))
    if found and not arguments.quiet:
        context.warn(secrets_note(found))
    return 0 if found else 1
