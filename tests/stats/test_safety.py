"""No rule is suggested that allows a command to write, destroy or run other programs."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ccgrep.stats.safety import SAFE_WITH_ANY_ARGUMENTS, SAFE_WITHOUT_ARGUMENTS, covers, judge
from ccgrep.stats.shard_tally import classify_script
from ccgrep.stats.shell import SUB_TOOLS, parse
from ccgrep.stats.suggest import Suggestions, review, suggest
from tests.helpers.dangers import DANGEROUS, REVIEWABLE, SAFE

RULES = [f"Bash({name}:*)" for name in sorted(SAFE_WITH_ANY_ARGUMENTS)]
RULES += [f"Bash({name})" for name in sorted(SAFE_WITHOUT_ARGUMENTS)]
"""Every rule that ccgrep can suggest."""


def suggest_for(*uses: tuple[str, int]) -> Suggestions:
    return suggest((classify_script(script), count, 0) for script, count in uses)


def test_list_of_dangerous_commands_has_at_least_80() -> None:
    assert len(set(DANGEROUS)) >= 80


@pytest.mark.parametrize("command", DANGEROUS)
def test_dangerous_command_yields_no_rule(command: str) -> None:
    verdict = judge(parse(command))
    assert (verdict.rule, bool(verdict.reason)) == ("", True)
    suggestions, skipped = suggest_for((command, 1000))
    assert suggestions == ()
    assert [each.uses for each in skipped] == [1000]


SIMPLE = [c for c in DANGEROUS if not set(c) & set("|&;<>(){}`$\n") and "'" not in c]


@pytest.mark.parametrize("command", SIMPLE)
def test_no_rule_allows_a_dangerous_command(command: str) -> None:
    """Rules are prefixes, so they allow more than the commands that led to them."""
    assert [rule for rule in RULES if covers(rule, command)] == []


def test_rules_for_tools_with_subcommands_name_one() -> None:
    for rule in RULES:
        words = rule.removeprefix("Bash(").removesuffix(")").removesuffix(":*").split()
        assert len(words) == (2 if words[0] in SUB_TOOLS else 1)
    assert not SAFE_WITH_ANY_ARGUMENTS & SAFE_WITHOUT_ARGUMENTS


@pytest.mark.parametrize("command", SAFE)
def test_read_only_command_is_suggested(command: str) -> None:
    (suggestion,) = suggest_for((command, 60)).suggestions
    assert suggestion.rule in RULES
    assert covers(suggestion.rule, command)
    assert suggestion.confidence == "high"


def test_confidence_levels_match_recall() -> None:
    def rules(*uses: tuple[str, int]) -> list[tuple[str, int, str]]:
        suggestions = suggest_for(*uses).suggestions
        return [(each.rule, each.uses, each.confidence) for each in suggestions]

    assert rules(("git status", 50)) == [("Bash(git status:*)", 50, "high")]
    assert rules(("git status", 49)) == [("Bash(git status:*)", 49, "medium")]
    assert rules(("git status", 10)) == [("Bash(git status:*)", 10, "medium")]
    assert rules(("git status", 9)) == [("Bash(git status:*)", 9, "low")]
    assert rules(("git status | head", 500)) == [("Bash(git status:*)", 500, "low")]
    assert rules(("git status -s", 30), ("git status", 30), ("cd x && git status", 5)) == [
        ("Bash(git status:*)", 65, "high")
    ]


def test_settings_omit_rules_with_low_confidence() -> None:
    result = suggest_for(("ls", 60), ("pwd", 20), ("whoami", 3), ("cat x | wc", 90), ("rm x", 900))
    assert result.allowed == ["Bash(ls:*)", "Bash(pwd:*)"]


def test_command_that_is_safe_without_arguments_gets_an_exact_rule() -> None:
    suggestions, skipped = suggest_for(("git diff", 60), ("git diff HEAD", 80))
    assert [each.rule for each in suggestions] == ["Bash(git diff)"]
    assert not covers("Bash(git diff)", "git diff --output=x")
    assert [(each.pattern, each.uses) for each in skipped] == [("git diff *", 80)]


def test_rule_matches_whole_words() -> None:
    assert covers("Bash(ls:*)", "ls")
    assert covers("Bash(ls:*)", "ls -l")
    assert not covers("Bash(ls:*)", "lsof")


OPTIONS = (
    "--output=made", "-o made", "--ext-diff", "--textconv", "--open-files-in-pager=./evil",
    "-O./evil", "--upload-pack=./evil", "--exec=./evil", "-x ./evil", "--pre=./evil",
    "--compress-program=./evil", "-w made", "-i", "--in-place", "--log=made", "made",
    "README made", "--pager=./evil", "--output-directory=made", "-C made", "--config=made",
    "--files-from=made", "-f made", "-d made",
)  # fmt: skip


@pytest.mark.parametrize("family", sorted(SAFE_WITH_ANY_ARGUMENTS - {"type"}))
def test_no_option_makes_a_safe_command_write_or_run(family: str, tmp_path: Path) -> None:
    """Run each command with options that make other commands write files or run programs."""
    program = shutil.which(family.split(maxsplit=1)[0])
    if program is None:
        pytest.skip("not installed")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C"}
    (tmp_path / "README").write_text("x\n")
    evil = tmp_path / "evil"
    evil.write_text("#!/bin/sh\ntouch made\n")
    evil.chmod(0o755)
    if family.startswith("git"):
        subprocess.run([program, "init", "-q", "."], cwd=tmp_path, env=env, check=True)
    for option in OPTIONS:
        subprocess.run(
            [program, *family.split()[1:], *option.split()],
            cwd=tmp_path,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=600,
        )
        assert sorted(os.listdir(tmp_path)) in (["README", "evil"], [".git", "README", "evil"])
        assert (tmp_path / "README").read_text() == "x\n"


@pytest.mark.parametrize("command", DANGEROUS)
def test_only_commands_of_the_project_are_offered_for_review(command: str) -> None:
    rules = [each.rule for each in review([(classify_script(command), 1000, 0)])]
    assert rules == ([f"Bash({command})"] if command in REVIEWABLE else [])


OFTEN = {
    "npm test": "Runs the project's own code",
    "pytest": "Runs the project's own code",
    "pytest -q tests/test_shop.py::test_cart": "Runs the project's own code",
    "python -m pytest -x": "Runs the project's own code",
    "cargo test": "Runs the project's own code",
    "uv run pytest": "Runs the project's own code",
    "ruff check": "Runs a tool with the project's configuration",
    "ruff check src": "Runs a tool with the project's configuration",
    "uv sync": "Installs locked dependencies, which can run code",
    "docker build -t shop .": "Runs the steps of a Dockerfile",
    "kubectl get pods -n shop": "Reads from a cluster",
}


@pytest.mark.parametrize("command", OFTEN)
def test_command_of_the_project_is_offered_with_count_and_reason(command: str) -> None:
    (found,) = review([(classify_script(command), 12, 0)])
    assert found == (command, 12, OFTEN[command])
    assert found.rule == f"Bash({command})"
    assert not covers(found.rule, f"{command} --more")
    assert review([(classify_script(command), 9, 0)]) == ()
    assert suggest_for((command, 1000)).suggestions == ()


@pytest.mark.parametrize(
    "command",
    """
    npm test *
    npm test:*
    pytest 'a b'
    pytest $FILES
    pytest ../other
    pytest /tmp/evil
    pytest -p evil
    pytest -c evil.ini
    pytest --rootdir=/tmp/evil
    npm test --script-shell=./evil
    npm run deploy
    npx jest
    FOO=1 pytest
    sudo pytest
    pytest > out
    pytest; rm x
    pytest && pytest
    pytest | tee out
    timeout 5 pytest
    ./pytest
    ruff check --config evil.toml
    cargo test --config evil
    go test -exec ./evil
    go test -toolexec ./evil
    docker build --ssh default .
    kubectl get secrets
    kubectl get pods --kubeconfig ./evil
    kubectl get pods --token=x
    kubectl delete pod x
    make deploy
    uv run deploy.py
    """.strip().splitlines(),
)
def test_command_that_could_be_another_one_is_not_offered(command: str) -> None:
    assert review([(classify_script(command.strip()), 1000, 0)]) == ()
