"""A real git repository that an agent and a person change, with the truth about who made what."""

import os
import random
import subprocess
from pathlib import Path

from tests.helpers.homes import Home
from tests.helpers.transcripts import ClaudeFile

WORDS = "order price refund login token cache queue retry parse render export import sync".split()


class ScriptedRepository:
    """A repository, the transcript of the agent that works in it, and what each turn did.

    `made` maps the subject of a commit to the turns that committed it or wrote lines of it.
    """

    def __init__(self, home: Home, seed: int) -> None:
        self.directory = home.directory / "src" / "shop"
        self.directory.mkdir(parents=True)
        self.agent: ClaudeFile = home.claude(seed, cwd=str(self.directory))
        self.made: dict[str, set[int]] = {}
        self.turns = 0
        self._random = random.Random(seed)
        self._commits = 0
        self._pending: dict[str, int] = {}  # uncommitted lines of the agent, with their turn
        self.git("init", "-q", "-b", "main")
        self.write("README.md", ["# Shop", "A shop that sells what the tests need."])
        self.commit_by_hand("Start the shop")

    def git(self, *arguments: str) -> str:
        time = f"{self.agent.now_ms // 1000} +0000"
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory.parent),
            "GIT_AUTHOR_DATE": time,
            "GIT_COMMITTER_DATE": time,
            **{f"GIT_{who}_NAME": "Sam" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "sam@example.org" for who in ("AUTHOR", "COMMITTER")},
        }
        command = ["git", "-C", str(self.directory), *arguments]
        done = subprocess.run(command, capture_output=True, check=True, env=environment)
        return done.stdout.decode()

    def path(self, name: str) -> Path:
        return self.directory / name

    def lines(self, name: str) -> list[str]:
        path = self.path(name)
        return path.read_text().splitlines() if path.exists() else []

    def write(self, name: str, lines: list[str]) -> None:
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text("\n".join(lines) + "\n")

    def new_lines(self, count: int) -> list[str]:
        """Return lines that no one wrote before, and some that anyone could have written."""
        numbers = [self._random.randrange(10**6) for _ in range(count)]
        own = [f"    {self._random.choice(WORDS)}_{n} = compute({n})" for n in numbers]
        return [*own, "    return None", ""]

    # What the agent does.

    def ask(self, prompt: str) -> None:
        """Begin a turn."""
        self.agent.tick(60)
        self.agent.prompt(prompt)
        self.turns += 1

    def edit(self, name: str, count: int = 4) -> None:
        """Insert lines into a file by the agent's Edit or Write tool."""
        lines, new = self.lines(name), self.new_lines(count)
        if not lines:
            self.write(name, new)
            text = self.path(name).read_text()
            tool, given = "Write", {"file_path": str(self.path(name)), "content": text}
        else:
            at = self._random.randrange(len(lines))
            self.write(name, [*lines[: at + 1], *new, *lines[at + 1 :]])
            old, after = lines[at], "\n".join([lines[at], *new])
            given = {"file_path": str(self.path(name)), "old_string": old, "new_string": after}
            tool = "Edit"
        self.agent.result(self.agent.call(tool, given), "ok")
        self._pending |= {line: self.turns - 1 for line in new if "=" in line}

    def commit_by_agent(self, subject: str = "", is_quiet: bool = False) -> str:
        """Commit everything in a shell call of the agent."""
        subject = subject or self._subject()
        self.agent.tick(2)
        self.git("add", "-A")
        output = self.git("commit", *(["-q"] if is_quiet else []), "-m", subject)
        command = f'git add -A && git commit -m "{subject}"'
        if is_quiet:
            command, output = f"{command} -q && git log --oneline", self.git("log", "--oneline")
        self.agent.result(self.agent.call("Bash", {"command": command}), output)
        self._credit(subject, {self.turns - 1})
        return subject

    def answer(self) -> None:
        self.agent.answer("Done.")
        self.agent.tick(5)

    # What the person does.

    def edit_by_hand(self, name: str, count: int = 4) -> None:
        self.agent.tick(60)
        self.write(name, [*self.lines(name), *self.new_lines(count)])

    def commit_by_hand(self, subject: str = "") -> str:
        subject = subject or self._subject()
        self.agent.tick(600)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        self._credit(subject, set())
        return subject

    def discard(self) -> None:
        """Throw away what is not committed."""
        self.git("checkout", "-q", "--", ".")
        self.git("clean", "-qfd")
        self._pending = {}

    def reword(self) -> str:
        """Rewrite the last commit: another hash, the same subject and author."""
        self.agent.tick(3600)
        self.git(
            "commit", "-q", "--amend", "--allow-empty", "--no-edit", "--trailer", "Reviewed-by: Kim"
        )
        return self.git("log", "-1", "--format=%s").strip()

    def _subject(self) -> str:
        self._commits += 1
        return f"Change {self._random.choice(WORDS)} number {self._commits}"

    def _credit(self, subject: str, committers: set[int]) -> None:
        added = self.git("show", "--format=", "-U0", "HEAD").splitlines()
        writers = {
            self._pending.pop(line[1:])
            for line in added
            if line.startswith("+") and line[1:] in self._pending
        }
        self.made[subject] = self.made.get(subject, set()) | committers | writers

    def run_at_random(self, steps: int) -> None:
        """Let the agent and the person change and commit things, in any order."""
        for step in range(steps):
            name = self._random.choice(["src/cart.py", "src/auth.py", "lib/tax.py", "docs/use.md"])
            match self._random.randrange(7):
                case 0 | 1:
                    self.ask(f"step {step}: change {name}")
                    self.edit(name)
                    if self._random.random() < 0.6:
                        self.commit_by_agent(is_quiet=self._random.random() < 0.4)
                    self.answer()
                case 2:
                    self.ask(f"step {step}: change {name} a lot")
                    self.edit(name, 9)
                    self.edit("src/cart.py", 2)
                    self.answer()
                case 3:
                    self.edit_by_hand(name)
                case 4:
                    self.commit_by_hand()
                case 5 if self._random.random() < 0.4:
                    self.discard()
                case _ if self._random.random() < 0.4:
                    self.reword()
        self.commit_by_hand()
        self.agent.write()
