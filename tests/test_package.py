"""What the wheel installs, what the source archive contains, and what the metadata says."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
from pathlib import Path

import pytest

from ccgrep import __version__
from tests.helpers.terminal import need

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of an environment in which the wheel is installed."""
    directory = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "wheel", *options, "-w", directory, ROOT], check=True)
    (wheel,) = directory.glob("*.whl")
    # pip would replace the ccgrep in this environment.
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


def test_completions_are_installed_where_shells_find_them(prefix: Path) -> None:
    share = prefix / "share"
    for installed, source in (
        ("bash-completion/completions/ccgrep", "ccgrep.bash"),
        ("zsh/site-functions/_ccgrep", "_ccgrep"),
        ("fish/vendor_completions.d/ccgrep.fish", "ccgrep.fish"),
    ):
        assert (share / installed).read_bytes() == (ROOT / "completions" / source).read_bytes()


@pytest.mark.parametrize("directory", ["keys", "templates"])
def test_package_contains_the_shell_scripts(prefix: Path, directory: str) -> None:
    names = {path.name for path in prefix.rglob(f"cli/{directory}/*")}
    assert names == {"ccgrep.bash", "ccgrep.zsh", "ccgrep.fish"}


def test_program_imports_nothing_before_ccgrep(prefix: Path) -> None:
    installed = prefix / "bin" / "ccgrep"
    first, *rest = installed.read_text().splitlines()
    assert first.startswith(f"#!{prefix}/bin/python") and os.access(installed, os.X_OK)
    assert rest == (ROOT / "bin" / "ccgrep").read_text().splitlines()[1:]


def tracked_files() -> set[str]:
    done = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode or not (ROOT / ".git").exists():
        pytest.skip("this is no git checkout")
    return {name for name in done.stdout.splitlines() if (ROOT / name).exists()}


def test_source_archive_contains_every_tracked_file(tmp_path: Path) -> None:
    tracked = tracked_files()
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (path,) = tmp_path.iterdir()
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert path.name == f"ccgrep-{__version__}.tar.gz"
    assert tracked - names == set()


def test_python_versions_are_the_same_everywhere() -> None:
    classifier = "Programming Language :: Python :: "
    listed = [text.removeprefix(classifier) for text in PROJECT["classifiers"]]
    versions = [version for version in listed if re.fullmatch(r"3\.\d+", version)]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    matrix = (ROOT / "scripts" / "matrix").read_text(encoding="utf-8")
    assert f"for version in {' '.join(versions)}; do" in matrix
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    quoted = ", ".join(f'"{version}"' for version in versions)
    assert f"python: [{quoted}]" in workflow
    assert "run: sh scripts/test" in workflow


def test_no_dependency_is_listed_twice() -> None:
    extras = PROJECT["optional-dependencies"].values()
    listed = [*PROJECT["dependencies"], *(name for names in extras for name in names)]
    names = [re.split(r"[^\w.-]", dependency)[0].lower() for dependency in listed]
    names = [name for name in names if name != PROJECT["name"]]  # An extra may include another.
    assert len(names) == len(set(names))
