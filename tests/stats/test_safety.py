"""Permission rules: nothing that writes, destroys or runs other programs is ever suggested."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ccgrep.stats.safety import AS_THEY_STAND, WHOLE_FAMILIES, covers, judge
from ccgrep.stats.shell import SUB_TOOLS, parse
from ccgrep.stats.suggest import Suggestions, suggest
from ccgrep.stats.tally import use_of
from tests.helpers.dangers import DANGEROUS, SAFE

RULES = [f"Bash({name}:*)" for name in sorted(WHOLE_FAMILIES)]
RULES += [f"Bash({name})" for name in sorted(AS_THEY_STAND)]
"""Every rule that can ever be suggested."""


def suggested(*uses: tuple[str, int]) -> Suggestions:
    return suggest((use_of(script), count, 0) for script, count in uses)


def test_there_are_enough_of_them() -> None:
    assert len(set(DANGEROUS)) >= 80


@pytest.mark.parametrize("command", DANGEROUS)
def test_dangerous_commands_count_for_no_rule(command: str) -> None:
    verdict = judge(parse(command))
    assert (verdict.rule, bool(verdict.reason)) == ("", True)
    found = suggested((command, 1000))
    assert found.suggestions == ()
    assert [one.uses for one in found.skipped] == [1000]


SIMPLE = [c for c in DANGEROUS if not set(c) & set("|&;<>(){}`$\n") and "'" not in c]


@pytest.mark.parametrize("command", SIMPLE)
def test_no_rule_that_can_be_suggested_allows_a_dangerous_command(command: str) -> None:
    """The rules are prefixes: what they allow is more than what was ever seen."""
    assert [rule for rule in RULES if covers(rule, command)] == []


def test_rules_name_a_subcommand_where_there_are_some() -> None:
    for rule in RULES:
        words = rule.removeprefix("Bash(").removesuffix(")").removesuffix(":*").split()
        assert len(words) == (2 if words[0] in SUB_TOOLS else 1)
    assert not WHOLE_FAMILIES & AS_THEY_STAND


@pytest.mark.parametrize("command", SAFE)
def test_commands_that_only_read_are_suggested(command: str) -> None:
    (found,) = suggested((command, 60)).suggestions
    assert found.rule in RULES
    assert covers(found.rule, command)
    assert found.confidence == "high"


def test_confidence_is_recalls() -> None:
    def of(*uses: tuple[str, int]) -> list[tuple[str, int, str]]:
        found = suggested(*uses).suggestions
        return [(one.rule, one.uses, one.confidence) for one in found]

    assert of(("git status", 50)) == [("Bash(git status:*)", 50, "high")]
    assert of(("git status", 49)) == [("Bash(git status:*)", 49, "medium")]
    assert of(("git status", 10)) == [("Bash(git status:*)", 10, "medium")]
    assert of(("git status", 9)) == [("Bash(git status:*)", 9, "low")]
    assert of(("git status | head", 500)) == [("Bash(git status:*)", 500, "low")]
    assert of(("git status -s", 30), ("git status", 30), ("cd x && git status", 5)) == [
        ("Bash(git status:*)", 65, "high")
    ]


def test_settings_hold_what_needs_no_second_look() -> None:
    found = suggested(("ls", 60), ("pwd", 20), ("whoami", 3), ("cat x | wc", 90), ("rm x", 900))
    assert found.allowed == ["Bash(ls:*)", "Bash(pwd:*)"]


def test_a_command_that_only_reads_as_it_stands_is_not_allowed_more() -> None:
    found = suggested(("git diff", 60), ("git diff HEAD", 80))
    assert [one.rule for one in found.suggestions] == ["Bash(git diff)"]
    assert not covers("Bash(git diff)", "git diff --output=x")
    assert [(one.pattern, one.uses) for one in found.skipped] == [("git diff *", 80)]


def test_rules_match_whole_words() -> None:
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


@pytest.mark.parametrize("family", sorted(WHOLE_FAMILIES - {"type"}))
def test_no_option_makes_a_family_write_or_run(family: str, tmp_path: Path) -> None:
    """Tried out, with options by which other commands write files and run programs."""
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
            timeout=20,
        )
        assert sorted(os.listdir(tmp_path)) in (["README", "evil"], [".git", "README", "evil"])
        assert (tmp_path / "README").read_text() == "x\n"
