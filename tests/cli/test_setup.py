"""`ccgrep setup shell` and `ccgrep completions`."""

from pathlib import Path

import pytest

from ccgrep.cli.generate import COMPLETIONS, completions
from tests.helpers.homes import Home
from tests.helpers.terminal import Terminal, need, put_on_path

OWN = (
    ".config/ccgrep/ccgrep.bash",
    ".config/ccgrep/ccgrep.zsh",
    ".config/fish/completions/ccgrep.fish",
    ".config/fish/conf.d/ccgrep.fish",
)


def programs(home: Home) -> dict[str, str]:
    """Return a PATH with all three shells, whatever is installed."""
    directory = home.directory / "shells"
    directory.mkdir(exist_ok=True)
    for shell in COMPLETIONS:
        (directory / shell).write_text("#!/bin/sh\n")
        (directory / shell).chmod(0o755)
    return {"PATH": str(directory)}


def files(home: Home) -> dict[str, bytes]:
    found = [p for p in home.directory.rglob("*") if p.is_file() and "shells" not in p.parts]
    return {str(path.relative_to(home.directory)): path.read_bytes() for path in found}


def test_setup_writes_own_files_and_one_block_per_start_up_file(home: Home) -> None:
    bashrc = home.directory / ".bashrc"
    bashrc.write_bytes(b"alias x=y # \xff no text\n")
    bashrc.chmod(0o640)
    done = home.run("setup", "shell", env=programs(home))
    assert (done.returncode, done.stderr) == (0, "")
    now = files(home)
    assert set(now) == {".bashrc", ".zshrc", *OWN}
    assert now[".bashrc"].startswith(b"alias x=y # \xff no text\n# >>> ccgrep >>>")
    assert now[".bashrc"].endswith(b"# <<< ccgrep <<<\n")
    assert bashrc.stat().st_mode & 0o777 == 0o640
    assert now[OWN[2]].decode() == completions("fish")
    again = home.run("setup", "shell", env=programs(home))
    assert again.stdout.count("unchanged: ") == 6
    assert files(home) == now


def test_remove_deletes_only_what_setup_installed(home: Home) -> None:
    (home.directory / ".bashrc").write_text("before\n")
    (home.directory / ".zshrc").write_text("before\n")
    before = files(home)
    home.run("setup", "shell", env=programs(home))
    with (home.directory / ".zshrc").open("a") as file:
        file.write("after\n")
    assert home.run("setup", "shell", "--remove").returncode == 0
    assert files(home) == {**before, ".zshrc": b"before\nafter\n"}


def test_remove_deletes_files_and_folders_that_setup_created(home: Home) -> None:
    (home.directory / ".bashrc").write_text("")
    before = sorted(home.directory.rglob("*"))
    variables = programs(home)
    home.run("setup", "shell", env=variables)
    assert home.run("setup", "shell", "--remove", env=variables).returncode == 0
    left = [path for path in home.directory.rglob("*") if "shells" not in path.parts]
    assert sorted(left) == before
    assert (home.directory / ".bashrc").read_text() == ""


def test_dry_run_writes_nothing(home: Home) -> None:
    before = files(home)
    done = home.run("setup", "shell", "--dry-run", env=programs(home))
    assert done.stdout.count("would write: ") == 6
    assert files(home) == before


def test_linked_start_up_file_stays_a_link(home: Home, tmp_path: Path) -> None:
    dotfile = tmp_path / "bashrc"
    dotfile.write_text("mine\n")
    (home.directory / ".bashrc").symlink_to(dotfile)
    home.run("setup", "shell", env=programs(home))
    assert (home.directory / ".bashrc").is_symlink()
    assert "# >>> ccgrep >>>" in dotfile.read_text()


def test_file_that_ccgrep_did_not_write_is_skipped(home: Home) -> None:
    path = home.directory / OWN[2]
    path.parent.mkdir(parents=True)
    path.write_text("complete -c ccgrep -a mine\n")
    done = home.run("setup", "shell", env=programs(home))
    assert f"skipped, not written by ccgrep: {path}" in done.stdout
    assert path.read_text() == "complete -c ccgrep -a mine\n"


@pytest.mark.parametrize("shell", COMPLETIONS)
def test_completions_are_printed(home: Home, shell: str) -> None:
    printed = home.run("completions", shell).stdout
    assert printed == completions(shell)
    with_keys = home.run("completions", shell, "--keys").stdout
    assert with_keys.startswith(printed) and "ccgrep pick --commands" in with_keys


def test_unknown_shell_is_exit_2(home: Home) -> None:
    done = home.run("completions", "tcsh")
    assert (done.returncode, "use one of bash, zsh, fish" in done.stderr) == (2, True)


@pytest.mark.parametrize("shell", COMPLETIONS)
def test_new_shells_complete_after_setup(
    home: Home, tmp_path_factory: pytest.TempPathFactory, shell: str
) -> None:
    need(shell, "tmux")
    put_on_path(home)
    assert home.run("setup", "shell").returncode == 0
    terminal = Terminal(home, tmp_path_factory.mktemp("t"), shell)
    try:
        terminal.type("echo re''ady")
        terminal.press("Enter")
        terminal.wait(lambda screen: "\nready" in screen)
        terminal.type("ccgrep list --max-s")
        terminal.press("Tab")
        terminal.wait(lambda screen: "ccgrep list --max-sessions" in screen)
    finally:
        terminal.close()
