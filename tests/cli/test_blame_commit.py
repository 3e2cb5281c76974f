"""`ccgrep blame --commit`, `ccgrep show --commits` and `ccgrep notes`, on real repositories."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.helpers import scale
from tests.helpers.attacks import ATTACKS, acting
from tests.helpers.homes import Home
from tests.helpers.scripted_repository import ScriptedRepository

_SUBJECT = "Attack " + " ".join(
    attack.replace("\0", "").encode(errors="ignore").decode() for attack in ATTACKS.values()
)


@pytest.fixture
def repository(home: Home) -> ScriptedRepository:
    return ScriptedRepository(home, 1)


def run(
    home: Home, repository: ScriptedRepository, *words: str
) -> subprocess.CompletedProcess[str]:
    return home.run(*words, cwd=repository.directory)


def blamed(home: Home, repository: ScriptedRepository, *words: str) -> list[str]:
    """Return the turn, score and snippet of each line of `blame --commit`."""
    done = run(home, repository, "blame", "--commit", *words)
    assert done.returncode == (0 if done.stdout else 1), done.stderr
    return [line.partition(":")[2] for line in done.stdout.splitlines()]


def hash_of(repository: ScriptedRepository, revision: str = "HEAD") -> str:
    return repository.git("rev-parse", revision).strip()[:10]


def test_commit_that_git_reported_in_a_turn_is_certain(
    home: Home, repository: ScriptedRepository
) -> None:
    repository.ask("fix the login")
    repository.edit("src/auth.py")
    repository.commit_by_agent("Fix the login test")
    repository.answer()
    repository.agent.write()
    home.index()
    expected = f"0:1.000:{hash_of(repository)} Fix the login test (committed here): fix the login"
    assert blamed(home, repository, "HEAD") == [expected]


def test_turns_that_wrote_the_lines_follow_the_one_that_committed(
    home: Home, repository: ScriptedRepository
) -> None:
    repository.ask("write the parser")
    repository.edit("src/parse.py", 9)
    repository.answer()
    repository.ask("now commit")
    repository.commit_by_agent("Add a parser")
    repository.answer()
    repository.agent.write()
    home.index()
    name = f"{hash_of(repository)} Add a parser"
    assert blamed(home, repository, "HEAD") == [
        f"1:1.000:{name} (committed here): now commit",
        f"0:0.900:{name} (wrote 9 of 9 lines): write the parser",
    ]


def test_commit_by_hand_is_traced_to_the_turn_that_wrote_its_lines(
    home: Home, repository: ScriptedRepository
) -> None:
    repository.ask("write the parser")
    repository.edit("src/parse.py", 9)
    repository.answer()
    repository.edit_by_hand("src/parse.py", 8)
    repository.commit_by_hand("Add a parser")
    repository.agent.write()
    home.index()
    name = f"{hash_of(repository)} Add a parser"
    expected = f"0:0.476:{name} (wrote 9 of 17 lines): write the parser"
    assert blamed(home, repository, "HEAD") == [expected]


def test_rewritten_commit_is_recognized_by_subject_and_time(
    home: Home, repository: ScriptedRepository
) -> None:
    repository.ask("fix the login")
    repository.git("rm", "-q", "README.md")
    repository.commit_by_agent("Remove the readme")
    repository.answer()
    repository.reword()
    repository.agent.write()
    home.index()
    name = f"{hash_of(repository)} Remove the readme"
    assert blamed(home, repository, "HEAD") == [
        f"0:0.950:{name} (committed here, rewritten since): fix the login"
    ]


def test_quiet_commit_is_recognized_by_hash_and_time(
    home: Home, repository: ScriptedRepository
) -> None:
    repository.ask("remove it")
    repository.git("rm", "-q", "README.md")
    repository.commit_by_agent("Remove the readme", is_quiet=True)  # prints the older hash, too
    repository.answer()
    repository.agent.write()
    home.index()
    assert [line[:8] for line in blamed(home, repository, "HEAD")] == ["0:1.000:"]
    done = run(home, repository, "blame", "--commit", "HEAD~1")
    older = f"{hash_of(repository, 'HEAD~1')} Start the shop"
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"ccgrep: no turn is known to have made {older}\n"


def test_lines_that_an_earlier_commit_has_do_not_count_again(
    home: Home, repository: ScriptedRepository
) -> None:
    repository.ask("write the parser")
    repository.edit("src/parse.py", 9)
    repository.answer()
    lines = repository.lines("src/parse.py")
    repository.commit_by_hand("Add a parser")
    repository.write("src/parse.py", ["# empty"])
    repository.commit_by_hand("Remove the parser")
    repository.write("src/parse.py", lines)
    repository.commit_by_hand("Revert the removal")
    repository.agent.write()
    home.index()
    assert blamed(home, repository, "HEAD") == []
    assert len(blamed(home, repository, "HEAD~2")) == 1


def test_lines_of_another_repository_with_the_same_file_do_not_count(
    home: Home, repository: ScriptedRepository
) -> None:
    other = ScriptedRepository(Home(home.directory / "other"), 2)
    repository.ask("write the parser")
    repository.edit("src/parse.py", 9)
    repository.answer()
    repository.agent.write()
    home.index()
    other.agent.now_ms = repository.agent.now_ms
    other.write("src/parse.py", repository.lines("src/parse.py"))
    other.commit_by_hand("Add the same parser")
    assert blamed(home, other, "HEAD") == []


def test_range_and_pull_request_name_their_commits(
    home: Home, repository: ScriptedRepository
) -> None:
    repository.git("checkout", "-q", "-b", "topic")
    for number in range(2):
        repository.ask(f"step {number}")
        repository.edit(f"src/step{number}.py")
        repository.commit_by_agent(f"Make step {number}")
        repository.answer()
    repository.git("checkout", "-q", "main")
    title = "Merge pull request #12 from sam/topic"
    repository.git("merge", "-q", "--no-ff", "-m", title, "topic")
    repository.commit_by_hand("Squash the rest (#13)")
    repository.agent.write()
    home.index()
    both = [line[:2] for line in blamed(home, repository, "main~2..topic")]
    assert both == ["1:", "0:"]
    assert [line[:2] for line in blamed(home, repository, "#12")] == both
    assert blamed(home, repository, "#13") == []
    done = run(home, repository, "blame", "--commit", "#14")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no commit of pull request #14 is in this repository" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("blame",), "blame takes either FILE or --commit REV"),
        (("blame", "--commit", "HEAD", "x.py"), "blame takes either FILE or --commit REV"),
        (
            ("blame", "--commit", "nosuch"),
            "'nosuch' names no commit of this repository: pass a commit",
        ),
        (("blame", "--commit", "a..b"), "'a..b' names no commit"),
        (("blame", "--commit", "--output=x"), "'--output=x' names no commit"),
        (("blame", "--commit", "HEAD", "-L", "1"), "-L"),
    ],
)
def test_bad_revisions_are_errors(
    home: Home, repository: ScriptedRepository, words: tuple[str, ...], message: str
) -> None:
    home.index()
    done = run(home, repository, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert not repository.path("x").exists()


def test_directory_without_a_repository_is_an_error(home: Home) -> None:
    home.index()
    done = home.run("blame", "--commit", "HEAD", cwd=home.directory)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("' is not in a git repository: run this in one\n")


def test_show_prints_the_commits_of_a_turn(home: Home, repository: ScriptedRepository) -> None:
    repository.ask("write the parser")
    repository.edit("src/parse.py", 9)
    repository.answer()
    repository.commit_by_hand("Add a parser")
    repository.ask("fix it")
    repository.edit("src/parse.py")
    repository.commit_by_agent("Fix the parser")
    repository.answer()
    repository.agent.write()
    home.index()
    shown = run(home, repository, "show", "--commits", repository.agent.id).stdout
    commits = [line for line in shown.splitlines() if line.startswith("commit: ")]
    assert commits == [
        f"commit: {hash_of(repository, 'HEAD~1')} Add a parser (wrote 9 of 9 lines)",
        f"commit: {hash_of(repository)} Fix the parser (committed here)",
    ]
    turns = home.json("show", "--commits", repository.agent.id)["turns"]
    assert [turn["commits"][0]["evidence"] for turn in turns] == ["wrote", "committed"]


def test_show_prints_what_git_reported_if_the_repository_is_gone(home: Home) -> None:
    file = home.claude(1, cwd="/nowhere/at/all")
    file.turn("commit it", "done", "git commit -m 'Fix it'", "[main 4be71d0] Fix it\n 1 file")
    file.write()
    home.index()
    shown = home.run("show", "--commits", file.id).stdout
    assert "commit: 4be71d0 Fix it (committed here)\n" in shown


def test_notes_are_printed_and_written_on_request(
    home: Home, repository: ScriptedRepository
) -> None:
    repository.git("config", "user.name", "Sam")
    repository.git("config", "user.email", "sam@example.org")
    repository.ask("fix the login")
    repository.edit("src/auth.py")
    repository.commit_by_agent("Fix the login test")
    repository.answer()
    repository.agent.write()
    home.index()
    note = f"ccgrep show {repository.agent.id[:8]}:0 committed here: fix the login"
    expected = f"{hash_of(repository)} Fix the login test\n    {note}\n"
    assert run(home, repository, "notes").stdout == expected
    assert "Notes" not in repository.git("log", "--notes=ccgrep")
    done = run(home, repository, "notes", "--write")
    assert (done.stdout, done.stderr) == (
        expected,
        "ccgrep: wrote 1 note: run `git log --notes=ccgrep`\n",
    )
    assert repository.git("notes", "--ref=ccgrep", "show", "HEAD") == f"{note}\n"
    assert run(home, repository, "notes", "--write").stdout == expected  # again, no error
    fields = json.loads(run(home, repository, "notes", "--json").stdout)
    assert [commit["note"] for commit in fields["commits"]] == [note]


def test_settings_of_git_change_nothing(home: Home, repository: ScriptedRepository) -> None:
    repository.ask("write the parser")
    repository.edit("src/parse.py", 9)
    repository.edit("src/other.py", 9)
    repository.answer()
    repository.commit_by_hand("Add a parser (#7)")
    repository.agent.write()
    home.index()
    before = blamed(home, repository, "HEAD")
    assert "(wrote 18 of 18 lines)" in before[0]
    for name, value in (
        ("color.ui", "always"),
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.interHunkContext", "50"),
        ("diff.relative", "true"),
        ("grep.patternType", "fixed"),
        ("i18n.logOutputEncoding", "UTF-16"),
        ("log.follow", "true"),
        ("log.showRoot", "false"),
    ):
        repository.git("config", name, value)
        assert blamed(home, repository, "HEAD") == before, name
        assert blamed(home, repository, "#7") == before, name
    done = home.run("blame", "--commit", "HEAD", cwd=repository.directory / "src")
    assert len(done.stdout.splitlines()) == 1


def test_notes_are_not_pushed(home: Home, repository: ScriptedRepository) -> None:
    repository.ask("fix the login")
    repository.edit("src/auth.py")
    repository.commit_by_agent("Fix the login test")
    repository.answer()
    repository.agent.write()
    for name, value in (("user.name", "Sam"), ("user.email", "sam@example.org")):
        repository.git("config", name, value)
    home.index()
    assert run(home, repository, "notes", "--write").returncode == 0
    remote = home.directory / "remote.git"
    repository.git("init", "-q", "--bare", "-b", "main", str(remote))
    repository.git("remote", "add", "origin", str(remote))
    repository.git("push", "-q", "--all", "origin")
    repository.git("push", "-q", "--tags", "origin")
    assert repository.git("ls-remote", "origin").split()[1::2] == ["HEAD", "refs/heads/main"]


def test_subjects_and_repositories_are_untrusted(
    home: Home, repository: ScriptedRepository
) -> None:
    """A repository may name programs to start, and its commits may contain anything."""
    repository.write(".gitattributes", ["*.py diff=evil"])
    repository.ask("try")
    repository.edit("src/auth.py")
    repository.commit_by_agent(_SUBJECT)
    repository.answer()
    repository.git("config", "core.fsmonitor", "touch hijacked; false")
    repository.git("config", "diff.external", "touch hijacked")
    repository.git("config", "core.pager", "touch hijacked")
    repository.git("config", "diff.evil.textconv", "touch hijacked")
    repository.agent.write()
    home.index()
    for words in (
        ["blame", "--commit", "HEAD"],
        ["notes"],
        ["show", "--commits", repository.agent.id],
    ):
        done = run(home, repository, *words)
        assert done.returncode == 0, done.stderr
        assert not acting(done.stdout + done.stderr)
    assert not [*repository.directory.rglob("hijacked")]


def test_claims_are_right(home: Home, figure: Callable[[str], None]) -> None:
    """At least 95 % of the claimed turns made the commit, on repositories made at random."""
    right = claimed = known = 0
    for seed in range(scale.of(4, 60)):
        own = Home(home.directory / str(seed))
        repository = ScriptedRepository(own, seed)
        repository.run_at_random(40)
        own.index()
        printed = run(own, repository, "notes", "-n0", "--json").stdout
        commits: list[dict[str, Any]] = json.loads(printed)["commits"]
        claims = {
            (commit["subject"], (turn["session_id"], turn["turn"]))
            for commit in commits
            for turn in commit["turns"]
        }
        truth = {(subject, turn) for subject, turns in repository.made.items() for turn in turns}
        right += len(claims & truth)
        claimed += len(claims)
        known += len(truth)
    figure(f"blame --commit: {right} of {claimed} claims right, {right} of {known} found")
    assert claimed > known / 2
    assert right >= 0.95 * claimed
