"""The documents say what is so: commands, options, files and links."""

import re
from pathlib import Path

import pytest

from ccgrep import __version__
from ccgrep.cli.flags import COMMANDS
from ccgrep.settings import KEYS, Key
from ccgrep.store import access

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "examples" / "README.md"]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("command", COMMANDS)
def test_readme_names_every_command(command: str) -> None:
    assert f"ccgrep {command}" in text("README.md")


def test_readme_names_only_options_that_exist() -> None:
    known = {name for c in COMMANDS.values() for o in c.options for name in o.names}
    typed = re.findall(r"ccgrep [a-z]+[^\n`|]*", text("README.md"))
    used = {option for line in typed for option in re.findall(r"(?<=\s)--[a-z-]+", line)}
    assert used and used <= known | {"--help", "--version"}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8"))
    missing = [x for x in links if "://" not in x and not (path.parent / x).exists()]
    assert missing == []


def test_architecture_names_every_module() -> None:
    tour = text("ARCHITECTURE.md")
    modules = {
        path.name
        for path in (ROOT / "src" / "ccgrep").rglob("*.py")
        if not path.name.startswith("__") and path.parent.name != "commands"
    }
    small = {"context.py", "progress.py", "when.py", "style.py", "tools.py"}  # parts of cli, output
    assert {name for name in modules - small if name not in tour} == set()


def described(key: Key) -> str:
    """A key as the table of docs/configuration.md has it."""
    value = key.default
    texts = ", ".join(f'"{text}"' for text in value) if isinstance(value, tuple) else ""
    shown = f"[{texts}]" if isinstance(value, tuple) else value
    shown = f'"{value}"' if isinstance(value, str) else shown
    variables = ", ".join(f"`{name}`" for name in key.environment)
    flag = f"`{key.flag}`" if key.flag else ""
    return f"| `{key.name}` | {key.kind} | `{shown}` | {variables} | {flag} | {key.help} |"


def test_configuration_describes_every_key_as_it_is() -> None:
    document = text("docs/configuration.md")
    table = re.findall(r"^\| `.*", document, re.MULTILINE)
    assert table == [described(key) for key in KEYS.values()]
    words = {word for key in KEYS.values() for word in key.words}
    assert [word for word in words if f"`{word}`" not in document] == []


def test_changelog_has_this_version() -> None:
    assert f"## {__version__}" in text("CHANGELOG.md")


def test_format_document_names_the_format_and_what_snapshots_hold() -> None:
    document = text("docs/format.md")
    assert f"format {access.FORMAT}" in document
    for name in ("must_collect", "forgotten"):
        assert name in document
