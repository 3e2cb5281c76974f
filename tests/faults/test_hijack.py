"""Files that lie where ccgrep is run are never imported, whatever their names.

`python -m ccgrep` has that directory first on its path, by Python's own doing, until `__main__`
takes it off. What Python itself imports before that is not in our hands: `python -P` is.
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
    "itertools json markdown_it math mcp mmap msgspec multiprocessing numpy operator "
    "pathlib pickle platform pygments random re re2 select shlex shutil signal site "
    "sitecustomize socket string struct subprocess tantivy tempfile textwrap "
    "threading time tokenizers tomllib traceback tree_sitter tree_sitter_bash types "
    "typing typing_extensions unicodedata usearch usercustomize watchfiles zlib "
    "zoneinfo"
).split()


@pytest.fixture
def trap(home: Home) -> Path:
    """A directory full of modules that tell when they are imported."""
    directory = home.directory / "trap"
    directory.mkdir()
    told = home.directory / "told"
    told.touch()
    for name in NAMES:
        code = f"open({str(told)!r}, 'a').write({name!r} + '\\n')\nraise SystemExit(77)\n"
        (directory / f"{name}.py").write_text(code)
    return directory


def told(home: Home) -> list[str]:
    return (home.directory / "told").read_text().split()


def fill(home: Home) -> str:
    """Enough to index that workers are started for it."""
    for seed in range(2):
        file = home.claude(seed + 1)
        file.turn("prompt", "answer", "cat x", "word " * 1_000_000)
        file.turn("where is the login", "in the form")
        file.write()
    return file.id


def script(home: Home) -> Path:
    """As pip writes it."""
    path = home.directory / "bin" / "ccgrep"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable}\nfrom ccgrep.cli import entry\nentry()\n")
    path.chmod(0o755)
    return path


def before_main() -> list[str]:
    """What Python has imported when it begins with a module."""
    code = "import runpy, sys; print(*sys.modules)"
    return subprocess.check_output([sys.executable, "-P", "-c", code], text=True).split()


def test_the_trap_works(home: Home, trap: Path) -> None:
    subprocess.run([sys.executable, "-c", "import tomllib"], cwd=trap, check=False)
    assert told(home) == ["tomllib"]


@pytest.mark.parametrize("how", ["script", "-m"])
def test_nothing_is_imported_from_where_it_is_run(
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
        file.turn(f"and {command[0]}", "grown")  # So the child of a search has something to do.
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
        assert told(home) == [], (command, done.stderr)
        assert done.returncode in (0, 1, 2), (command, done)
        assert "Traceback" not in done.stderr, (command, done.stderr)
    home.index()
    assert_same_as_fresh(home)
    figure(
        f"import hijack ({how}): {len(commands)} commands in a directory of {names} hostile "
        "modules, 0 imported"
    )


def test_what_agents_start_imports_nothing_from_there() -> None:
    """Servers and hooks are started where somebody's project is."""
    source = Path(setup_agents.__file__).read_text(encoding="utf-8")
    assert '"-P", "-m", "ccgrep"' in source
    assert not re.search(r'(?<!"-P", )"-m", "ccgrep"', source)
    files = [path.read_text(encoding="utf-8") for path in INTEGRATIONS.rglob("*.json")]
    started = [one for text in files for one in re.findall(r'"command": "([^"]+)"', text)]
    assert started
    assert all("python" not in command for command in started)


def test_every_python_that_is_started_is_told_not_to() -> None:
    """`-P` stands wherever the source starts Python."""
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
