"""ccgrep fsck: verify every object, pack and manifest."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.ops import upkeep
from ccgrep.output import human, json


def run(arguments: SimpleNamespace, context: Context) -> int:
    config = context.config(arguments.root)
    result = upkeep.fsck(config, arguments.repair, 0.0 if arguments.no_wait else 10.0)
    if arguments.json:
        context.write(json.dumps(json.fsck(result)))
    else:
        context.write_lines(human.fsck_lines(result))
    return 0 if (result.repaired or result.report).is_clean else 1
