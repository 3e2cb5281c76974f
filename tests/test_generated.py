"""Man pages and completions are generated from the flag table, and are complete."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ccgrep.cli.flags import COMMANDS, HELP, Command, Option
from ccgrep.cli.generate import COMPLETIONS, files
from ccgrep.cli.help import help_text
from tests.helpers.command_lines import ccgrep_calls
from tests.helpers.terminal import need

ROOT = Path(__file__).parents[1]
OPTIONS = [(c, o) for c in COMMANDS.values() for o in (*c.options, HELP)]
SECTIONS = (
    "NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES EXIT.STATUS ENVIRONMENT FILES SEE.ALSO".split()
)


def id_of(value: object) -> str:
    if isinstance(value, Command):
        return value.name
    return value.names[-1] if isinstance(value, Option) else ""


@pytest.mark.parametrize("path", files())
def test_generated_files_are_up_to_date(path: str) -> None:
    hint = f"{path} is out of date: run scripts/generate"
    assert (ROOT / path).read_text(encoding="utf-8") == files()[path], hint


def test_no_generated_file_is_left_over() -> None:
    kept = {str(p.relative_to(ROOT)) for d in ("man", "completions") for p in (ROOT / d).iterdir()}
    assert kept == set(files())


@pytest.mark.parametrize("page", sorted((ROOT / "man").iterdir()), ids=lambda page: page.name)
def test_man_pages_are_well_formed_and_complete(page: Path) -> None:
    need("mandoc")
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("", 0)
    found = re.findall(r"^\.SH (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name.replace(" ", ".") for name in found] == SECTIONS


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=id_of)
def test_every_option_is_in_help_man_page_and_completions(command: Command, option: Option) -> None:
    shown = help_text(command)
    page = (ROOT / "man" / f"ccgrep-{command.name}.1").read_text(encoding="utf-8")
    scripts = {shell: (ROOT / path).read_text("utf-8") for shell, (path, _) in COMPLETIONS.items()}
    bash = (
        scripts["bash"].partition("_ccgrep_options()")[2].partition(f"\n        {command.name})")[2]
    )
    zsh = scripts["zsh"].partition(f"        ({command.name})\n")[2]
    fish = [x for x in scripts["fish"].splitlines() if f"'__ccgrep_is {command.name}'" in x]
    for name in option.names:
        assert re.search(rf"(^|[\s,]){re.escape(name)}($|[\s,])", shown, re.MULTILINE)
        assert f"\\fB{name.replace('-', chr(92) + '-')}\\fR" in page
        assert f"\n                {name}$'\\t'" in bash.partition(";;")[0]
        assert re.search(rf"['*)]{re.escape(name)}[+=]?\[", zsh.partition(";;")[0])
        letter = f" -l {name[2:]} " if name.startswith("--") else f" -s {name[1:]} "
        assert any(letter in line for line in fish)


def test_every_option_is_in_a_test() -> None:
    calls = set(ccgrep_calls())
    unused = {
        id_of(option)
        for option in dict.fromkeys(option for _, option in OPTIONS)
        if not any(
            set(option.names) & set(used_options(command, words))
            for command, own in OPTIONS
            if own == option
            for words in calls
        )
    }
    assert unused == set()


def used_options(command: Command, words: frozenset[str]) -> Iterator[str]:
    """Yield the options among the words of a call, if the call may run the command."""
    if command.name not in ((words & COMMANDS.keys()) or {"search"}):
        return
    flags = {name for o in command.options for name in o.names if not o.value}
    for word in words:
        if word.startswith("--"):
            yield word.partition("=")[0]
        elif word.startswith("-"):
            for letter in word[1:]:
                yield f"-{letter}"
                if f"-{letter}" not in flags:
                    break


def test_option_of_another_program_is_not_in_a_test() -> None:
    """`bash -o pipefail` once passed for a test of `ccgrep -o`."""
    assert not any({"pipefail", "--norc"} & words for words in ccgrep_calls())
