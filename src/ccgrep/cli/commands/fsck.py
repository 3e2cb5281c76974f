"""ccgrep fsck: verify every object, pack and manifest."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.ops.fsck import fsck
from ccgrep.output.json_document import encode_document, fsck_fields
from ccgrep.output.report_text import fsck_lines


def run(arguments: SimpleNamespace, context: Context) -> int:
    config = context.config(arguments.root)
    result = fsck(config, arguments.repair, 0.0 if arguments.no_wait else 10.0, context.warn)
    if arguments.json:
        context.write(encode_document(fsck_fields(result)))
    else:
        context.write_lines(fsck_lines(result))
    return 0 if (result.repaired or result.report).is_clean else 1
