"""What `pip install` puts where: the manual and the completions are found by those who look."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.helpers.terminal import need

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory into which the wheel was installed."""
    directory = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "wheel", *options, "-w", directory, ROOT], check=True)
    (wheel,) = directory.glob("*.whl")
    # An environment of its own: pip would take away the ccgrep that is installed in this one.
    target = directory / "prefix"
    venv.create(target)
    other = ["--python", str(target / "bin" / "python")]
    subprocess.run([*pip, *other, "install", "--no-deps", "--no-index", wheel], check=True)
    return target


@pytest.mark.parametrize("page", ["ccgrep", "ccgrep-show", "ccgrep-pick"])
def test_man_finds_the_pages(prefix: Path, page: str) -> None:
    need("man")
    done = subprocess.run(
        ["man", "-P", "cat", page],
        env={**os.environ, "MANPATH": str(prefix / "share" / "man"), "MANWIDTH": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "SYNOPSIS" in done.stdout and f"{page.upper()}(1)" in done.stdout


def test_completions_are_where_shells_look(prefix: Path) -> None:
    share = prefix / "share"
    for installed, source in (
        ("bash-completion/completions/ccgrep", "ccgrep.bash"),
        ("zsh/site-functions/_ccgrep", "_ccgrep"),
        ("fish/vendor_completions.d/ccgrep.fish", "ccgrep.fish"),
    ):
        assert (share / installed).read_bytes() == (ROOT / "completions" / source).read_bytes()


def test_keys_come_with_the_package(prefix: Path) -> None:
    assert {p.name for p in prefix.rglob("keys/*")} == {"ccgrep.bash", "ccgrep.zsh", "ccgrep.fish"}


def test_the_program_imports_nothing_before_ccgrep(prefix: Path) -> None:
    installed = prefix / "bin" / "ccgrep"
    first, *rest = installed.read_text().splitlines()
    assert first.startswith(f"#!{prefix}/bin/python") and os.access(installed, os.X_OK)
    assert rest == (ROOT / "bin" / "ccgrep").read_text().splitlines()[1:]
