"""ccgrep never imports files from the current directory, whatever their names.

Python puts the current directory first on the path of `python -m ccgrep`, until `__main__` removes
it. Only `python -P` protects what Python itself imports before that.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ccgrep.cli import setup_agents
from tests.helpers import scale
from tests.helpers.homes import SOURCE, Home, assert_same_as_fresh

INTEGRATIONS = Path(SOURCE).parent / "integrations"
NAMES = (
    "argparse backports bisect codecs collections compression contextlib ctypes "
    "datetime difflib errno fcntl functools hashlib heapq html importlib io "
    "itertools json markdown_it math mcp mmap msgspec multiprocessing numkong numpy operator "
    "pathlib pickle platform pygments random re re2 select shlex shutil signal site "
    "sitecustomize socket string struct subprocess tantivy tempfile textwrap "
    "threading time tokenizers tomllib traceback tree_sitter tree_sitter_bash types "
    "typing typing_extensions unicodedata usearch usercustomize watchfiles zlib "
    "zoneinfo"
).split()


@pytest.fixture
def trap(home: Home) -> Path:
    """A directory full of modules that record when they are imported."""
    directory = home.directory / "trap"
    directory.mkdir()
    record = home.directory / "imported"
    record.touch()
    for name in NAMES:
        code = f"open({str(record)!r}, 'a').write({name!r} + '\\n')\nraise SystemExit(77)\n"
        (directory / f"{name}.py").write_text(code)
    return directory


def imported(home: Home) -> list[str]:
    return (home.directory / "imported").read_text().split()


def fill(home: Home) -> str:
    """Write enough that indexing starts workers; return a session id."""
    for seed in range(2):
        file = home.claude(seed + 1)
        file.turn("prompt", "answer", "cat x", "word " * 1_000_000)
        file.turn("where is the login", "in the form")
        file.write()
    return file.id


def script(home: Home) -> Path:
    """Write the script that pip installs."""
    path = home.directory / "bin" / "ccgrep"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable}\nfrom ccgrep.cli import entry\nentry()\n")
    path.chmod(0o755)
    return path


def before_main() -> list[str]:
    """Return what Python has imported before it runs a module."""
    code = "import runpy, sys; print(*sys.modules)"
    return subprocess.check_output([sys.executable, "-P", "-c", code], text=True).split()


def test_trap_records_imports(home: Home, trap: Path) -> None:
    subprocess.run([sys.executable, "-c", "import tomllib"], cwd=trap, check=False)
    assert imported(home) == ["tomllib"]


@pytest.mark.parametrize("how", ["script", "-m"])
def test_nothing_is_imported_from_the_current_directory(
    home: Home, trap: Path, how: str, figure: Callable[[str], None]
) -> None:
    id = fill(home)
    home.embed = "auto"
    start = [str(script(home))] if how == "script" else [sys.executable, "-m", "ccgrep"]
    for name in before_main() if how == "-m" else ():
        (trap / f"{name}.py").unlink(missing_ok=True)
    names = len(list(trap.iterdir()))
    environment = {**home.environment, "PYTHONPATH": SOURCE}
    assert "PYTHONSAFEPATH" not in environment
    commands = [["index"], ["login"], ["-E", "log[a-z]+", "--json"], ["--semantic", "signing in"]]
    commands += [
        ["show", id],
        ["list", "--json"],
        ["stats"],
        ["stats", "suggest"],
        ["gc"],
        ["fsck"],
    ]
    commands += [["export", id, "-f", "html", "-o", str(home.directory / "x.html")], ["settings"]]
    commands += [["__complete", "session", ""], ["mcp"], ["status"]]
    if how == "-m" and not scale.IS_LONG:
        commands = [["index"], ["-E", "log[a-z]+", "--json"], ["stats"], ["mcp"]]
    file = home.claude(3)
    for command in commands:
        file.turn(f"and {command[0]}", "grown")  # for the refresh of a search
        file.append()
        done = subprocess.run(
            [*start, *command],
            cwd=trap,
            env=environment,
            input="",
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert imported(home) == [], (command, done.stderr)
        assert done.returncode in (0, 1, 2), (command, done)
        assert "Traceback" not in done.stderr, (command, done.stderr)
    home.index()
    assert_same_as_fresh(home)
    figure(
        f"import hijack ({how}): {len(commands)} commands in a directory of {names} hostile "
        f"modules, {len(imported(home))} imported"
    )


def test_commands_that_agents_start_ignore_the_current_directory() -> None:
    """Agents start servers and hooks in the directory of a project."""
    source = Path(setup_agents.__file__).read_text(encoding="utf-8")
    assert '"-P", "-m", "ccgrep"' in source
    assert not re.search(r'(?<!"-P", )"-m", "ccgrep"', source)
    files = [path.read_text(encoding="utf-8") for path in INTEGRATIONS.rglob("*.json")]
    started = [one for text in files for one in re.findall(r'"command": "([^"]+)"', text)]
    assert started
    assert all("python" not in command for command in started)


def test_every_started_python_ignores_the_current_directory() -> None:
    """The source passes `-P` wherever it starts Python."""
    found = 0
    for path in Path(SOURCE, "ccgrep").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.List) and ast.unparse(node).startswith("[sys.executable,"):
                assert ast.unparse(node).startswith("[sys.executable, '-P',"), (path, node.lineno)
                found += 1
    assert found >= 3
    shell = "".join(path.read_text() for path in Path(SOURCE, "ccgrep").rglob("*.py"))
    for called in re.findall(r'"\$CCGREP_PYTHON"[^\n]{0,20}', shell):
        assert called.startswith('"$CCGREP_PYTHON" -P '), called
