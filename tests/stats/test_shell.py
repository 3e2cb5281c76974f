"""The main command of a script, its subcommand, and whether the script is compound."""

import os
import subprocess
import sys

import pytest
from tree_sitter import Tree

from ccgrep.model import ToolCall
from ccgrep.stats import shell
from ccgrep.stats.shell import parse, script_of

HEREDOC = "cat <<'EOF' > notes.md\nuse | and && here; $(date)\nEOF"

CASES: dict[str, tuple[str, str, bool]] = {
    # Taken from recall's tests.
    "git commit -m 'msg' && git push": ("git", "commit", True),
    "kubectl get pods -n default": ("kubectl", "get", False),
    "cat file.txt | grep error": ("cat", "", True),
    # Words before the command.
    "FOO=1 BAR='x y' git status": ("git", "status", False),
    "env -u X FOO=1 git status": ("git", "status", False),
    "sudo -u postgres psql": ("psql", "", False),
    "sudo apt install jq": ("apt", "install", False),
    "timeout -k 5 30 npm test": ("npm", "test", False),
    "time nice -n 5 cargo build": ("cargo", "build", False),
    "cd /src/shop && git log --oneline": ("git", "log", True),
    "cd a; cd b; make": ("make", "", True),
    "cd /src/shop": ("cd", "", False),
    "(cd /src && make all)": ("make", "", True),
    # Options before the subcommand.
    "git -C /src -c a=b --no-pager diff HEAD": ("git", "diff", False),
    "kubectl -n prod logs web": ("kubectl", "logs", False),
    "docker --context x ps": ("docker", "ps", False),
    "cargo +nightly test": ("cargo", "test", False),
    "npm --prefix web run build": ("npm", "run", False),
    "git": ("git", "", False),
    "git --version": ("git", "", False),
    "git $SUB": ("git", "", False),
    # Spelling.
    "/usr/bin/git status": ("git", "status", False),
    "'g'it \"stat\"us": ("git", "status", False),
    "\\ls -l": ("ls", "", False),
    "$EDITOR notes.md": ("$EDITOR", "", False),
    # Grammar.
    HEREDOC: ("cat", "", False),
    HEREDOC + "\ngit add notes.md": ("cat", "", True),
    "python3 - <<EOF\nprint('a; b')\nEOF": ("python3", "", False),
    "[[ -f x && $a == b* ]] && ls": ("[[", "", True),
    "echo $((1 + 2))": ("echo", "", False),
    "for f in *.py; do wc -l $f; done": ("wc", "", True),
    "case $x in a) ls;; esac": ("ls", "", True),
    "if git diff --quiet; then make; fi": ("git", "diff", True),
    "diff <(ls a) <(ls b)": ("diff", "", False),
    "git commit -m \"$(cat <<'EOF'\nfix: a && b\nEOF\n)\"": ("git", "commit", False),
    "make test 2>&1": ("make", "", False),
    "make test > log 2>&1": ("make", "", False),
    "sleep 5 &": ("sleep", "", True),
    "ls # a && comment": ("ls", "", False),
    "git status\ngit diff": ("git", "status", True),
    "! grep -q x file": ("grep", "", False),
    "VERSION=$(git describe) make": ("make", "", False),
    "X=1": ("", "", False),
    # Syntax errors.
    "echo 'not closed": ("echo", "", False),
    "FOO=1 git push 'oops && x": ("git", "push", True),
    ")": ("", "", False),
    "": ("", "", False),
}


@pytest.mark.parametrize("script", CASES, ids=lambda script: script[:40])
def test_main_command_of_script(script: str) -> None:
    parsed = parse(script)
    assert (parsed.base, parsed.sub, parsed.is_compound) == CASES[script]


@pytest.mark.parametrize("script", ["sudo apt update", "sudo -E env A=1 make", "doas reboot"])
def test_sudo_and_doas_mark_a_script_as_privileged(script: str) -> None:
    assert parse(script).is_privileged
    assert not parse(script.partition(" ")[2].replace("-E", "")).is_privileged


def test_long_heredoc_does_not_hide_the_command() -> None:
    body = "print('a | b && c')\n" * 1000
    parsed = parse(f"cd x && cat > a.py <<'EOF'\n{body}EOF\n")
    assert (parsed.base, parsed.is_compound, parsed.is_plain) == ("cat", True, False)
    assert parse(f"cat > a.py <<'EOF'\n{body}EOF").is_compound is False


FRAGMENTS = (
    "a|",
    "`<~",
    "[[{`",
    "))",
    "+(|<",
    "a=(",
    "<<'E' ",
    "$(",
    "'\"`$({<<",
    "?a",
    "\n",
    "\0",
)


@pytest.mark.parametrize("fragment", FRAGMENTS, ids=repr)
@pytest.mark.parametrize("size", [4_000, 1_000_000])
def test_hostile_script_is_parsed_up_to_a_limit(
    fragment: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Syntax errors take quadratic time, so the grammar must not get long scripts."""
    parsed: list[int] = []
    parser = shell._parser()

    class Spy:
        def parse(self, source: bytes) -> Tree:
            parsed.append(len(source))
            return parser.parse(source)

    monkeypatch.setattr(shell, "_parser", Spy)
    parse(fragment * (size // len(fragment)))
    assert len(parsed) <= 1
    assert sum(parsed) <= shell._MAX_PARSED_CHARS


def test_deep_nesting_is_parsed() -> None:
    assert parse("(" * 1500 + "ls" + ")" * 1500).base in ("ls", "")
    assert parse("$(" * 1000 + "ls" + ")" * 1000).parts


def test_script_of_tool_call() -> None:
    given = [
        (ToolCall("Bash", {"command": "ls"}), "ls"),
        (ToolCall("shell", {"command": ["bash", "-lc", "ls -l"]}), "ls -l"),
        (ToolCall("shell", {"command": ["/bin/zsh", "-c", "ls"]}), "ls"),
        (ToolCall("shell", {"command": ["git", "commit", "-m", "a b"]}), "git commit -m 'a b'"),
        (ToolCall("exec_command", {"cmd": "ls"}), "ls"),
        (ToolCall("shell_command", {"command": "ls"}), "ls"),
        (ToolCall("Bash", {"command": 7}), None),
        (ToolCall("Bash", {"command": " "}), None),
        (ToolCall("Bash", None), None),
        (ToolCall("Bash", "ls"), "ls"),
        (ToolCall("Read", {"command": "ls"}), None),
    ]
    for call, script in given:
        assert script_of(call) == script


NON_ASCII_SCRIPTS = """
from ccgrep.stats import shell
from ccgrep.stats.shell import parse
for code in range(0x80, 0x110000, 0x333):
    for script in ("{%s5", "{%s}", "a{%s", "${%s}", "x{%s..2}"):
        parse(script.replace("%s", chr(code)))
"""


def test_no_character_crashes_the_scanner() -> None:
    """The grammar's scanner passes characters to C functions that are defined for bytes only."""
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", NON_ASCII_SCRIPTS], env={"PYTHONPATH": path}, check=False
    )
    assert done.returncode == 0


def test_words_beyond_ascii_are_kept() -> None:
    parsed = parse("cd /tmp/été && git commit -m 'größer 🎉' && ñ=1 ls 中文")
    assert [part.words for part in parsed.parts] == [
        ("cd", "/tmp/été"),
        ("git", "commit", "-m", "größer 🎉"),
        ("ñ=1", "ls", "中文"),
    ]
