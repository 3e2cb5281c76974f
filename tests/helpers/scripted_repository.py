"""A real git repository that agents and a person change, with the truth about who made what.

`run_at_random` sets the traps that real repositories have: commits by hand of what an agent wrote,
edits by hand between, discarded work, `--amend`, rebase, squash, cherry-pick, merges, reverts,
moved and reformatted files. A second agent repeats discarded work. Agents and the person commit at
the same time.
"""

import os
import random
import subprocess
from pathlib import Path

from tests.helpers.homes import Home
from tests.helpers.transcripts import ClaudeFile

WORDS = "order price refund login token cache queue retry parse render export import sync".split()


Maker = tuple[str, int]
"""The session and the number of a turn."""


class ScriptedRepository:
    """A repository, the transcripts of the agents that work in it, and what each turn did.

    `made` maps the subject of a commit to the turns that committed it, or wrote lines of it that no
    earlier commit has. `agent` is the one at work.
    """

    def __init__(self, home: Home, seed: int) -> None:
        self.directory = home.directory / "src" / "shop"
        self.directory.mkdir(parents=True)
        self.agent: ClaudeFile = home.claude(seed, cwd=str(self.directory))
        self._agents = [self.agent]
        self._home = home
        self.made: dict[str, set[Maker]] = {}
        self._turns: dict[str, int] = {}
        self._random = random.Random(seed)
        self._commits = 0
        self._writers: dict[str, Maker] = {}  # the last turn that wrote a line
        self._known: set[str] = set()  # lines that a commit of this branch or its ancestors has
        self._discarded: list[tuple[str, list[str]]] = []
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
        self._turns[self.agent.id] = self._turns.get(self.agent.id, 0) + 1

    @property
    def turn(self) -> Maker:
        """The last turn of the agent at work."""
        return self.agent.id, self._turns[self.agent.id] - 1

    def change_agent(self) -> None:
        """Let the second agent go on, at the time of the first one."""
        if len(self._agents) == 1:
            seed = self._random.randrange(10**6, 10**7)
            self._agents.append(self._home.claude(seed, cwd=str(self.directory)))
        now_ms = self.agent.now_ms
        self.agent = next(agent for agent in self._agents if agent is not self.agent)
        self.agent.now_ms = now_ms

    def edit(self, name: str, count: int = 4, given: list[str] | None = None) -> None:
        """Insert lines into a file by the agent's Edit or Write tool."""
        lines, new = self.lines(name), given or self.new_lines(count)
        if not lines:
            self.write(name, new)
            text = self.path(name).read_text()
            tool, input = "Write", {"file_path": str(self.path(name)), "content": text}
        else:
            at = self._random.randrange(len(lines))
            self.write(name, [*lines[: at + 1], *new, *lines[at + 1 :]])
            old, after = lines[at], "\n".join([lines[at], *new])
            input = {"file_path": str(self.path(name)), "old_string": old, "new_string": after}
            tool = "Edit"
        self.agent.result(self.agent.call(tool, input), "ok")
        self._writers |= {line: self.turn for line in new if "=" in line}

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
        self._credit(subject, {self.turn})
        return subject

    def run_git(self, *arguments: str) -> None:
        """Run git in a shell call of the agent."""
        self.agent.tick(2)
        output = self.git(*arguments)
        command = "git " + " ".join(arguments)
        self.agent.result(self.agent.call("Bash", {"command": command}), output)

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
        changed = self.git("diff", "-U0", "--relative", "--no-prefix").splitlines()
        name = ""
        for line in changed:
            if line.startswith("+++ "):
                name = line[4:]
                self._discarded.append((name, []))
            elif line[:1] == "+" and line[1:] in self._writers:
                self._discarded[-1][1].append(line[1:])
        self.git("checkout", "-q", "--", ".")
        self.git("clean", "-qfd")

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

    def _credit(self, subject: str, committers: set[Maker]) -> None:
        """Note who made the last commit."""
        added = self.git("show", "--format=", "-U0", "HEAD").splitlines()
        new = {line[1:] for line in added if line.startswith("+")} - self._known
        writers = {self._writers[line] for line in new if line in self._writers}
        self.made[subject] = self.made.get(subject, set()) | committers | writers
        self._known |= new

    # Traps. Each one begins with a clean working tree, and ends on main.

    def repeat_discarded(self) -> None:
        """Let the other agent write once more what was thrown away, and commit it."""
        own = [(name, lines) for name, lines in self._discarded if lines]
        if not own:
            return
        name, lines = self._random.choice(own)
        if set(lines) & {*self.lines(name), *self._known}:
            return
        self.change_agent()
        self.ask(f"do the change of {name} again")
        self.edit(name, given=lines)
        self.commit_by_agent()
        self.answer()

    def commit_side_by_side(self, name: str) -> None:
        """Let an agent commit quietly, and list commits, while another one's turn goes on."""
        self.ask("take your time")
        slow = self.agent
        self.change_agent()
        self.ask(f"change {name} meanwhile")
        self.edit(name)
        self.commit_by_agent(is_quiet=self._random.random() < 0.5)
        self.answer()
        self.change_agent()
        assert self.agent is slow
        self.edit("src/slow.py")
        self.commit_by_agent(is_quiet=True)
        self.answer()

    def commit_by_hand_meanwhile(self, name: str) -> None:
        """Let the person commit during a turn, with a subject that the agent's begins with."""
        self.ask(f"change {name}, while I take notes")
        subject = self._subject()
        self.write("docs/notes.md", self.new_lines(4))
        self.git("add", "docs/notes.md")
        self.git("commit", "-q", "-m", subject.partition(" number")[0])
        self._credit(subject.partition(" number")[0], set())
        self.edit(name)
        self.commit_by_agent(subject, is_quiet=self._random.random() < 0.5)
        self.answer()

    def amend(self, name: str) -> None:
        """Let a later turn of the agent add to its last commit."""
        self.ask(f"change {name} and commit")
        self.edit(name)
        subject = self.commit_by_agent()
        self.answer()
        self.ask(f"{name} needs more")
        self.edit(name)
        self.git("add", "-A")
        self.run_git("commit", "--amend", "--no-edit")
        self._credit(subject, {self.turn})
        self.answer()

    def branch(self, name: str) -> None:
        """Bring the commits of a branch to main, in one of five ways."""
        known = set(self._known)
        self.git("checkout", "-q", "-b", "topic")
        subjects = []
        for number in range(self._random.randrange(1, 4)):
            self.ask(f"step {number} of the branch")
            self.edit(f"src/part{self._random.randrange(5)}.py")
            subjects.append(self.commit_by_agent(is_quiet=self._random.random() < 0.4))
            self.answer()
        self.git("checkout", "-q", "main")
        on_topic, self._known = self._known, known
        self.edit_by_hand("docs/use.md")
        self.commit_by_hand()
        self.agent.tick(600)
        match self._random.randrange(5):
            case 0:
                self.git("merge", "-q", "--squash", "topic")
                self.commit_by_hand()
                self.made = {s: who for s, who in self.made.items() if s not in subjects}
            case 1:
                self.git("rebase", "-q", "main", "topic")
                self.git("checkout", "-q", "main")
                self.git("merge", "-q", "--ff-only", "topic")
                self._known |= on_topic
            case 2:
                self.git("merge", "-q", "--no-ff", "-m", f"Merge the branch for {name}", "topic")
                self._known |= on_topic
            case 3:
                self.git("cherry-pick", *reversed(self.git("rev-list", "main..topic").split()))
                self._known |= on_topic
            case _:
                self.ask("take the commits of the branch")
                picked = self.git("rev-list", "main..topic").split()
                self.run_git("cherry-pick", *reversed(picked))
                for subject in subjects:
                    self.made[subject].add(self.turn)
                self.answer()
                self._known |= on_topic
        self.git("branch", "-q", "-D", "topic")

    def revert(self) -> None:
        """Revert the last commit by hand, and perhaps the revert, too."""
        if len(self.git("log", "-1", "--format=%P").split()) != 1 or not self.git(
            "show", "--format=", "HEAD"
        ):
            return
        for _ in range(self._random.randrange(1, 3)):
            self.agent.tick(600)
            self.git("revert", "--no-edit", "HEAD")

    def reformat(self, name: str) -> None:
        """Indent a file by hand, sometimes what an agent has just written and nobody committed."""
        if self._random.random() < 0.5:
            self.ask(f"change {name}, but leave the commit to me")
            self.edit(name, 9)
            self.answer()
        before = self.lines(name)
        self.write(name, [f"  {line}" if line else line for line in before])
        self._writers |= {
            f"  {line}": self._writers[line]
            for line in before
            if line in self._writers and line not in self._known
        }
        self.commit_by_hand()

    def move(self, name: str) -> None:
        """Move a file, or its second half, by hand."""
        lines, target = self.lines(name), f"src/moved{self._commits}.py"
        if not lines:
            return
        kept = 0 if self._random.random() < 0.5 else len(lines) // 2
        self.write(target, lines[kept:])
        if kept:
            self.write(name, lines[:kept])
        else:
            self.path(name).unlink()
        self.commit_by_hand()

    def run_at_random(self, steps: int) -> None:
        """Let the agents and the person change and commit things, in any order."""
        for step in range(steps):
            name = self._random.choice(["src/cart.py", "src/auth.py", "lib/tax.py", "docs/use.md"])
            match self._random.randrange(12):
                case 0 | 1 | 2 | 3 as kind:
                    self._work(f"step {step}: change {name}", name, is_large=kind > 1)
                case 4 | 5 | 6 | 7 | 8 as kind:
                    self._meddle(kind, name)
                case _ if self._random.random() < 0.5:
                    self.commit_by_hand()
                    self._trap(name)
                case _:
                    pass
        self.commit_by_hand()
        for agent in self._agents:
            agent.write()

    def _work(self, prompt: str, name: str, is_large: bool) -> None:
        self.ask(prompt)
        if is_large:
            self.edit(name, 9)
            self.edit("src/cart.py", 2)
        else:
            self.edit(name)
            if self._random.random() < 0.6:
                self.commit_by_agent(is_quiet=self._random.random() < 0.4)
        self.answer()

    def _meddle(self, kind: int, name: str) -> None:
        match kind:
            case 4:
                self.edit_by_hand(name)
            case 5:
                self.commit_by_hand()
            case 6 if self._random.random() < 0.4:
                self.discard()
            case 7 if self._random.random() < 0.4:
                self.reword()
            case 8 if self._random.random() < 0.3:
                self.change_agent()
            case _:
                pass

    def _trap(self, name: str) -> None:
        match self._random.randrange(9):
            case 0:
                self.repeat_discarded()
            case 7:
                self.reformat(name)
            case 8:
                self.move(name)
            case 6:
                self.commit_by_hand_meanwhile(name)
            case 1:
                self.commit_side_by_side(name)
            case 2:
                self.amend(name)
            case 3 | 4:
                self.branch(name)
            case _:
                self.revert()
