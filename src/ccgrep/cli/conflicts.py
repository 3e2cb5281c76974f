"""The table of options that contradict each other.

The options of a line exclude each other. With a bar, those before it exclude those after it. The
parser imports this module only if a command line has several options.
"""

from __future__ import annotations

from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CONFLICTS = {
    "search": (
        "-F -E",
        "--words --semantic --hybrid",
        "-F -E -o -v | --all --words --semantic --hybrid --alpha --model",
        "--all | --semantic --hybrid",
        "--alpha | --words --semantic",
        "--model | --words",
        "--timeout | --words --all --semantic --hybrid",
        "--no-index | --semantic --hybrid --alpha --model",
        "-o -v",
        "-R | --no-index --machine --tag",
        "--json --jsonl -l -L -c -o",
        "--json --jsonl | -0 -A -B -C --width",
        "-l -L -c | --width",
        "-l -L -c | -A -B -C",
        "--sort -L",
    ),
    "log": ("--json --format --markdown", "--day | --format --reverse -n --subagents --full-id"),
    "pick": ("--commands | --semantic -t",),
    "index": (
        "--no-embed | --embed-all --embed-since --model",
        "--embed-all --embed-since",
        "-q -v",
    ),
    "export": ("--site | -f -o -n",),
    "blame": ("-L | --commit",),
    "show": (
        "--commits | --raw --save -R",
        "--json --raw --save",
        "--budget | --raw --save",
        "--full | --json --raw --save",
    ),
    "team": ("--shard --partitions",),
    "list": ("-R | --tree --gone --machine --tag",),
    "forget": ("-R | --forks",),
    "stats": (
        "-R | --machine --tag --html --by --suggest --budget --color",
        "--settings | --json",
        "--html | --json -n --color --by --suggest",
    ),
    "restore": ("--versions | --version --to --dry-run --force",),
    "prune": ("--list | --older-than --dry-run --yes", "--dry-run --yes"),
    "status": ("--by -v",),
    "setup": ("--remove | --hook --recall",),
}


def find_conflict(command: str, given: Mapping[str, str]) -> tuple[str, str] | None:
    """Return two options that exclude each other, in the order and with the names typed, or None.

    `given` maps every name of the options that were given to the name that was typed.
    """
    order = list(given.values())
    for line in CONFLICTS.get(command, ()):
        for one, other in _pairs(line):
            if one in given and other in given:
                first, second = sorted((given[one], given[other]), key=order.index)
                return first, second
    return None


def _pairs(line: str) -> Iterator[tuple[str, str]]:
    before, bar, after = line.partition("|")
    names = before.split()
    for position, name in enumerate(names):
        for other in after.split() if bar else names[position + 1 :]:
            yield name, other
