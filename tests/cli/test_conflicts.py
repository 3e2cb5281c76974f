"""Options that contradict each other."""

import pytest

from ccgrep.cli.conflicts import CONFLICTS, find_conflict
from ccgrep.cli.flags import COMMANDS, Option
from ccgrep.cli.parse import parse
from ccgrep.errors import UsageError


def option_named(command: str, name: str) -> Option:
    (option,) = [option for option in COMMANDS[command].options if name in option.names]
    return option


def typed(command: str, name: str) -> list[str]:
    """Return an option as typed, with a valid value if it takes one."""
    option = option_named(command, name)
    return [name, *([option.choices[0] if option.choices else "1"] if option.value else [])]


def pairs(line: str) -> list[tuple[str, str]]:
    before, bar, after = (part.split() for part in line.partition("|"))
    if bar:
        return [(one, other) for one in before for other in after]
    return [(one, other) for one in before for other in before if one < other]


@pytest.mark.parametrize("command", CONFLICTS)
def test_every_pair_of_the_table_is_an_error_that_names_both(command: str) -> None:
    for line in CONFLICTS[command]:
        assert pairs(line), line
        for one, other in pairs(line):
            for first, second in ((one, other), (other, one)):
                words = [*typed(command, first), *typed(command, second), "claude"]
                with pytest.raises(UsageError) as error:
                    parse(COMMANDS[command], words)
                assert str(error.value).startswith(f"{first} and {second} cannot be combined: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_each_option_alone_is_no_conflict(command: str) -> None:
    for option in COMMANDS[command].options:
        for name in option.names:
            assert find_conflict(command, dict.fromkeys(option.names, name)) is None
