"""Man pages and completions are what the table makes, and leave nothing out."""

import re
import subprocess
from pathlib import Path

import pytest

from ccgrep.cli.flags import COMMANDS, HELP, Command, Option
from ccgrep.cli.generate import COMPLETIONS, files
from ccgrep.cli.help import help_text
from tests.helpers.terminal import need

ROOT = Path(__file__).parents[1]
OPTIONS = [(c, o) for c in COMMANDS.values() for o in (*c.options, HELP)]
SECTIONS = (
    "NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES EXIT.STATUS ENVIRONMENT FILES SEE.ALSO".split()
)


def id_of(one: object) -> str:
    return (
        one.name if isinstance(one, Command) else one.names[-1] if isinstance(one, Option) else ""
    )


@pytest.mark.parametrize("path", files())
def test_files_are_what_the_table_makes(path: str) -> None:
    hint = f"{path} is not what the table makes: run scripts/generate"
    assert (ROOT / path).read_text(encoding="utf-8") == files()[path], hint


def test_no_file_is_left_over() -> None:
    kept = {str(p.relative_to(ROOT)) for d in ("man", "completions") for p in (ROOT / d).iterdir()}
    assert kept == set(files())


@pytest.mark.parametrize("page", sorted((ROOT / "man").iterdir()), ids=lambda page: page.name)
def test_manual_pages_are_well_formed_and_complete(page: Path) -> None:
    need("mandoc")
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("", 0)
    found = re.findall(r"^\.SH (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name.replace(" ", ".") for name in found] == SECTIONS


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=id_of)
def test_every_option_is_in_help_manual_and_completions(command: Command, option: Option) -> None:
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


@pytest.mark.parametrize("option", dict.fromkeys(o for _, o in OPTIONS), ids=id_of)
def test_every_option_is_in_a_test(option: Option) -> None:
    sources = [p.read_text("utf-8") for p in (ROOT / "tests").rglob("*.py") if p != Path(__file__)]
    pattern = "|".join(rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in option.names)
    assert any(re.search(pattern, source) for source in sources)
