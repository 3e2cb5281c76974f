"""Decides which shell commands are safe to allow permanently, from tables of read-only commands.

A rule such as `Bash(git status:*)` is a prefix. It also allows options that no transcript shows.
So a command is in `SAFE_WITH_ANY_ARGUMENTS` only if no option and no argument makes it write a
file, run another program, or use the network. These are not: `git diff`, `git log` and `git show`
(`--output=FILE`), `sort` (`-o`), `uniq` and `xxd` (write to a second file), `find` (`-exec`), `rg`
(`--pre`), `tree` (`-o`), `date` (`-s`), `test` and `printf` (`-v 'a[$(x)]'` runs x), `diff` (`-l`
runs pr), `kubectl get` (`--kubeconfig`). Some of them are safe without arguments: `Bash(git diff)`.

Commands in neither table are refused. The table of dangers only provides better reasons. Of the
refused commands, `project_commands.py` names those that a person may want to review.
"""

import hashlib
import re
from typing import NamedTuple

from ccgrep.stats import project_commands
from ccgrep.stats.shell import SHELLS, SUB_TOOLS, Part, Script

_READERS = """
    arch basename cat cksum cmp column comm cut df dirname du echo expand false fold free grep
    groups head hexdump id jq ls md5sum nl nproc od paste ps pwd readlink realpath rev seq sha1sum
    sha256sum sha512sum shasum stat tac tail tr true type uname unexpand uptime wc which whoami
"""
_GIT_READERS = """
    check-attr check-ignore count-objects describe for-each-ref ls-files ls-tree merge-base name-rev
    rev-parse show-ref status var
"""
SAFE_WITH_ANY_ARGUMENTS = frozenset(
    [*_READERS.split(), *(f"git {sub}" for sub in _GIT_READERS.split())]
)

_READERS_WITHOUT_ARGUMENTS = {
    "git": "branch diff log reflog remote show tag version",
    "docker": "images info ps version",
    "npm": "list ls",
    "pip": "freeze list",
    "apt": "list",
    "systemctl": "list-units status",
}
SAFE_WITHOUT_ARGUMENTS = frozenset(
    ["date", "hostname", "tree"]
    + [f"{base} {sub}" for base, subs in _READERS_WITHOUT_ARGUMENTS.items() for sub in subs.split()]
)

_NAME = re.compile(r"[A-Za-z0-9_-]+")

_DANGERS = (
    ("Destructive command", "rm rmdir shred dd mkfs truncate wipefs fdisk kill pkill killall"
     " shutdown reboot halt poweroff unlink"),
    ("Changes privileges", "sudo doas su chmod chown chgrp setfacl chroot mount umount passwd"
     " useradd usermod visudo"),
    ("Can run other programs", "sh bash zsh dash fish eval exec source . xargs parallel env"
     " timeout nice nohup time watch find fd rg awk gawk perl python python3 ruby node deno bun"
     " npx uvx ssh make just npm yarn pnpm cargo go docker command builtin trap crontab at tmux"
     " screen script entr strace gdb nsenter unshare"),
    ("Can write", "tee cp mv ln install mkdir touch sed patch tar zip unzip gzip rsync apply_patch"
     " git sort uniq xxd tree split csplit ed ex vi vim nano emacs pip uv brew apt"
     " systemctl kubectl export set alias unset declare"),
    ("Uses the network", "curl wget nc ncat telnet ftp scp sftp dig nslookup gh aws gcloud http"),
)  # fmt: skip
_REASONS = {name: reason for reason, names in _DANGERS for name in names.split()}

RULES_VERSION = hashlib.sha256(
    repr(
        (
            sorted(SAFE_WITH_ANY_ARGUMENTS),
            sorted(SAFE_WITHOUT_ARGUMENTS),
            _DANGERS,
            project_commands.TABLES,
        )
    ).encode()
).hexdigest()[:8]
"""A hash of the tables. Tallies store verdicts, so a change of the tables invalidates them."""


class Verdict(NamedTuple):
    """The rule that would allow a script's main command, or the reason why there is none."""

    rule: str = ""
    reason: str = ""


def judge(script: Script) -> Verdict:
    """Return a rule only if every command of the script is known to be read-only."""
    parts = script.parts
    rules = [_rule(part) for part in parts]
    refused = [p for p, rule in zip(parts, rules, strict=True) if not rule and not _is_cd(p)]
    if refused:
        return Verdict(reason=_reasons(refused))
    if not script.is_plain:
        return Verdict(reason="Writes a file or hides what it runs")
    main = next((rule for part, rule in zip(parts, rules, strict=True) if not _is_cd(part)), "")
    return Verdict(rule=main) if main else Verdict(reason="Only changes the directory")


def _rule(part: Part) -> str:
    """Return the rule that covers a command as typed, or "" if there is none."""
    typed = part.text.split()
    if not (part.is_bare and typed and _NAME.fullmatch(typed[0]) and part.words[0] == typed[0]):
        return ""  # Quotes, a path or a variable may hide another program.
    name = " ".join(typed[: 2 if typed[0] in SUB_TOOLS else 1])
    rule = _rule_of(name)
    return rule if rule and covers(rule, part.text) else ""


def _rule_of(name: str) -> str:
    if name in SAFE_WITH_ANY_ARGUMENTS:
        return f"Bash({name}:*)"
    return f"Bash({name})" if name in SAFE_WITHOUT_ARGUMENTS else ""


def _is_cd(part: Part) -> bool:
    return part.is_bare and bool(part.words) and part.words[0] == "cd"


def _reasons(parts: list[Part]) -> str:
    """Return the first reason, unless the script feeds a download to a shell."""
    reasons = list(map(_reason, parts))
    names = {(part.words[0] or "").rpartition("/")[2] for part in parts if part.words}
    return "Network to a shell" if "Uses the network" in reasons and names & SHELLS else reasons[0]


def _reason(part: Part) -> str:
    word = part.words[0] if part.words else None
    if word is None:
        return "Hides what it runs"
    return _REASONS.get(word.rpartition("/")[2], "Not known to be read-only")


def covers(rule: str, command: str) -> bool:
    """Return whether a rule allows a command. Claude Code compares their text."""
    pattern = rule.removeprefix("Bash(").removesuffix(")")
    prefix = pattern.removesuffix(":*")
    return command == prefix or (prefix != pattern and command.startswith(prefix + " "))
