"""The documents name commands, options, files and tests that exist."""

import re
from pathlib import Path

import pytest

from ccgrep import __version__
from ccgrep.cli.flags import COMMANDS
from ccgrep.settings import KEYS, Key
from ccgrep.sources.registry import SOURCES
from ccgrep.store import access

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "ccgrep"
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "examples" / "README.md"]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_guide_lists_every_command_and_no_other() -> None:
    table = text("GUIDE.md").partition("## All commands")[2]
    cells = re.findall(r"^\| (`ccgrep .*?) \|", table, re.MULTILINE)
    names = {name for cell in cells for name in re.findall(r"`ccgrep ([a-z]+)", cell)}
    assert names | {"search"} == set(COMMANDS)  # `ccgrep PATTERN` is the search


@pytest.mark.parametrize("name", ["README.md", "GUIDE.md"])
def test_documents_name_only_options_that_exist(name: str) -> None:
    known = {name for c in COMMANDS.values() for o in c.options for name in o.names}
    typed = re.findall(r"ccgrep [a-z]+[^\n`|]*", text(name))
    used = {option for line in typed for option in re.findall(r"(?<=\s)--[a-z-]+", line)}
    assert used and used <= known | {"--help", "--version"}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8"))
    missing = [x for x in links if "://" not in x and not (path.parent / x).exists()]
    assert missing == []


def test_architecture_names_every_room_and_only_modules_that_exist() -> None:
    document = text("ARCHITECTURE.md")
    modules = [str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py")]
    rooms = {name.partition("/")[0] for name in modules if "/" in name}
    assert {room for room in rooms if f"**{room}/**" not in document} == set()
    named = set(re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py)`", document)) - {"tests/test_layers.py"}
    ends = {"/".join(name.split("/")[-n:]) for name in modules for n in (1, 2, 3)}
    assert named - ends == set()


def test_architecture_fits_on_a_few_screens() -> None:
    lines = text("ARCHITECTURE.md").splitlines()
    assert len(lines) <= 170 and max(map(len, lines)) <= 100


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


def test_changelog_keeps_its_form_and_knows_this_version() -> None:
    headings = re.findall(r"^(##+) (.*)", text("CHANGELOG.md"), re.MULTILINE)
    versions = [title for level, title in headings if level == "##"]
    assert versions[0] == "[Unreleased]"
    assert re.fullmatch(rf"\[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d", versions[1])
    sections = {title for level, title in headings if level == "###"}
    assert sections <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_reliability_names_tests_that_exist_and_every_fault_suite() -> None:
    document = text("docs/reliability.md")
    files = set(re.findall(r"`((?:[a-z_]+/)*test_[a-z_0-9]+\.py)`", document))
    assert {name for name in files if not (ROOT / "tests" / name).exists()} == set()
    suites = {f"faults/{path.name}" for path in (ROOT / "tests" / "faults").glob("test_*.py")}
    assert suites - files == set()
    sources = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    defined = {name for source in sources for name in re.findall(r"^def (test_\w+)", source, re.M)}
    assert set(re.findall(r"`(test_[a-z_0-9]+)`", document)) - defined == set()


def test_documents_name_only_scripts_that_exist() -> None:
    for path in DOCUMENTS:
        named = re.findall(r"\bscripts/([a-z]+)\b", path.read_text(encoding="utf-8"))
        assert {name for name in named if not (ROOT / "scripts" / name).exists()} == set(), path


def test_format_document_names_the_format_and_what_snapshots_hold() -> None:
    document = text("docs/format.md")
    assert f"format {access.FORMAT}" in document
    for name in ("must_collect", "forgotten"):
        assert name in document


def test_sources_document_has_a_row_for_each_agent_of_the_table() -> None:
    document = text("docs/sources.md")
    rows = re.findall(r"^\| .* \|$", document.partition("## ")[0], re.MULTILINE)[1:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    by_name = {row[1].strip("`"): row for row in cells}
    assert set(by_name) == {source.name.replace("_", "-") for source in SOURCES}
    for source in SOURCES:
        title, _, _, _, resume = by_name[source.name.replace("_", "-")]
        assert source.title in title
        command = " ".join(source.resume).replace("{id}", "ID")
        assert (f"`{command}`" if command else "nothing") in resume, source.name
