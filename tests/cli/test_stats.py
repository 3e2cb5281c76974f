"""`ccgrep stats`: columns, JSON and charts."""

import json
import re

import pytest

from tests.helpers.attacks import ATTACKS, acting
from tests.helpers.homes import Home
from tests.helpers.imports import imported_modules
from tests.helpers.terminal import on_terminal


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Return a home with two Claude Code projects, a fork, a sub-agent and a Codex session."""
    home = Home(tmp_path_factory.mktemp("stats") / "home")
    first = home.claude(1)
    for number in range(12):
        first.turn(f"look {number}", "clean", "git status --short", "ok")
    first.prompt("push")
    first.result(first.call("Bash", {"command": "cd x && git push"}), "denied", is_error=True)
    first.result(first.call("Read", {"file_path": "/x"}), "text")
    first.answer("no")
    first.write()
    fork = first.fork(first.path.parent, 4, 60)
    fork.turn("go on", "done", "sudo rm -rf build", "ok")
    fork.write()
    agent = home.subagent(first, "agent-00000001")
    agent.turn("serve", "yes", "ls | wc -l", "3")
    agent.write()
    other = home.claude(2, cwd="/home/sam/src/blog", slug="-home-sam-src-blog")
    other.turn("write", "written")
    other.write()
    codex = home.codex()
    codex.meta()
    codex.prompt("test it")
    codex.command("pytest -q", "ok")
    codex.answer("passed")
    codex.tokens(100, 40, 7)
    codex.write()
    home.rest()
    home.index()
    return home


def test_overview_has_a_line_for_each_source_project_and_day(shop: Home) -> None:
    done = shop.run("stats")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "total\t-\t5\t17\t17\t380\t167\t40\t0\t33",
        "source\tclaude_code\t4\t16\t16\t320\t160\t0\t0\t32",
        "source\tcodex\t1\t1\t1\t60\t7\t40\t0\t1",
        "project\t/home/sam/src/shop\t3\t15\t16\t310\t155\t0\t0\t31",
        "project\t/home/sam/src/api\t1\t1\t1\t60\t7\t40\t0\t1",
        "project\t/home/sam/src/blog\t1\t1\t0\t10\t5\t0\t0\t1",
        "day\t2026-09-21\t3\t15\t15\t300\t150\t0\t0\t30",
        "day\t2026-09-22\t1\t1\t1\t20\t10\t0\t0\t2",
        "day\t2026-10-11\t1\t1\t1\t60\t7\t40\t0\t1",
    ]


def test_overview_as_json(shop: Home) -> None:
    found = shop.json("stats")
    assert found["schema"] == 1
    counts = {name: found[name] for name in ("sessions", "turns", "copies", "tool_calls")}
    assert counts == {"sessions": 5, "turns": 17, "copies": 1, "tool_calls": 17}
    assert found["tool_errors"] == 1
    assert found["tokens"] == {
        "input": 380, "output": 167, "cache_read": 40, "cache_write": 0, "messages": 33,
    }  # fmt: skip
    assert found["coverage"] == {"is_fresh": True, "behind_files": 0, "behind_bytes": 0}
    assert found["first_turn"] == "2026-09-21T14:42:09.000Z"
    assert [(source["source"], source["turns"]) for source in found["sources"]] == [
        ("claude_code", 16),
        ("codex", 1),
    ]
    assert found["days"][0]["day"] == "2026-09-21"
    assert found["tools"][0] == {
        "tool": "Bash", "calls": 15, "errors": 1, "error_rate": 0.0667, "turns": 15,
    }  # fmt: skip


def test_tools(shop: Home) -> None:
    assert shop.run("stats", "tools").stdout.splitlines() == [
        "Bash\t*\t15\t1\t0.0667",
        "Read\t*\t1\t0\t0.0000",
        "shell\t*\t1\t0\t0.0000",
    ]
    assert shop.run("stats", "tools", "--by", "project", "-n1").stdout.splitlines() == [
        "Bash\t/home/sam/src/shop\t15\t1\t0.0667",
    ]
    found = shop.json("stats", "tools")
    assert (found["calls"], found["errors"]) == (17, 1)
    assert found["tools"][2]["projects"] == [
        {"project": "/home/sam/src/api", "calls": 1, "errors": 0, "error_rate": 0.0}
    ]


def test_bash(shop: Home) -> None:
    assert shop.run("stats", "bash").stdout.splitlines() == [
        "git\tstatus\t12\t0\t0\t0",
        "git\tpush\t1\t1\t1\t0",
        "ls\t-\t1\t0\t1\t0",
        "pytest\t-\t1\t0\t0\t0",
        "rm\t-\t1\t0\t0\t1",
    ]
    found = shop.json("stats", "bash", "-n", "1")
    assert (found["count"], found["compound"]) == (16, 2)
    assert found["commands"] == [
        {"base": "git", "sub": "status", "count": 12, "errors": 0, "compound": 0, "sudo": 0}
    ]


def test_tokens(shop: Home) -> None:
    lines = shop.run("stats", "tokens").stdout.splitlines()
    assert lines[0] == "total\t-\t380\t167\t40\t0\t33\t0.01"
    assert [line.partition("\t")[0] for line in lines[1:]] == (
        ["project"] * 3 + ["model"] * 2 + ["day"] * 3 + ["week"] * 2
    )
    assert "model\tgpt-5-codex\t60\t7\t40\t0\t1\t0.00" in lines
    by_week = shop.run("stats", "tokens", "--by", "week").stdout.splitlines()
    assert by_week == [lines[0], *lines[-2:]]
    latest = shop.run("stats", "tokens", "--by", "week", "-n1").stdout.splitlines()
    assert latest == [lines[0], lines[-1]]
    found = shop.json("stats", "tokens")
    assert found["total"]["input"] == 380
    assert found["weeks"][0] == {
        "week": "2026-W39", "input": 320, "output": 160, "cache_read": 0, "cache_write": 0,
        "messages": 32, "usd": 0.0056,
    }  # fmt: skip


def test_filters_are_those_of_a_search(shop: Home) -> None:
    def turns(*options: str) -> int:
        return int(shop.run("stats", *options).stdout.split("\t")[3])

    assert turns("-p", "blog") == 1
    assert turns("--source", "codex") == 1
    assert turns("--tool", "read") == 1
    assert turns("--tool", "any") == 16
    assert turns("--subagents", "only") == 1
    assert turns("--subagents", "exclude") == 16
    assert turns("--since", "2026-09-22", "--until", "2026-10-01") == 1
    assert turns("--model-name", "GPT") == 1
    assert turns("--branch", "none") == 0
    assert turns("--max-sessions", "1") == 1
    assert turns("--session", shop.claude(1).id[:9]) == 13
    nowhere = shop.run("stats", "-p", "nowhere")
    assert (nowhere.returncode, nowhere.stdout) == (1, "")
    assert "no sessions found for project 'nowhere'" in nowhere.stderr


def test_suggestions(shop: Home) -> None:
    assert shop.run("stats", "bash", "--suggest").stdout.splitlines() == [
        "medium\tBash(git status:*)\t12\tKnown to be read-only with any arguments",
        "low\tBash(ls:*)\t1\tFewer than 10 uses",
        "skipped\tgit push * (with other commands)\t1\tCan write",
        "skipped\tpytest *\t1\tNot known to be read-only",
        "skipped\trm *\t1\tChanges privileges",
    ]
    found = shop.json("stats", "bash", "--suggest")
    assert found["suggestions"][0] == {
        "pattern": "git status *",
        "rule": "Bash(git status:*)",
        "count": 12,
        "confidence": "medium",
        "reason": "Known to be read-only with any arguments",
    }
    assert found["skipped"][2] == {
        "pattern": "rm *", "count": 1, "reason": "Changes privileges",
    }  # fmt: skip
    settings = json.loads(shop.run("stats", "bash", "--suggest", "--settings").stdout)
    assert settings == {"permissions": {"allow": ["Bash(git status:*)"]}}


def test_suggestions_on_a_terminal(shop: Home) -> None:
    assert on_terminal(shop, "stats", "bash", "--suggest", NO_COLOR="1").splitlines() == [
        "Suggested Bash Permissions",
        "==========================",
        "",
        "Medium confidence (>=10 uses):",
        "  - git status *  (12 uses)",
        "",
        "Review carefully (few uses, or with pipes and other commands):",
        "  - ls *  (1 use)",
        "",
        "Not suggested (can destroy, write, or run other programs):",
        "  - git push * (with other commands)  (1 use) [SKIPPED] Can write",
        "  - pytest *                          (1 use) [SKIPPED] Not known to be read-only",
        "  - rm *                              (1 use) [SKIPPED] Changes privileges",
        "",
        "→ ccgrep stats bash --suggest --settings",
    ]


def test_reviewed_commands_are_exact_and_need_an_option_of_their_own(home: Home) -> None:
    file = home.claude()
    for script, uses in {"npm test": 12, "pwd": 11, "pytest -q": 10, "cargo test": 9}.items():
        for number in range(uses):
            file.turn(f"go {number}", "done", script, "ok")
    secret = "AKIA" + "Q3EGRV5TKMBPN2XW"
    for number in range(20):
        file.turn(f"go {number}", "done", f"pytest -k {secret}", "ok")
    file.write()
    lines = home.run("stats", "bash", "--suggest").stdout.splitlines()
    assert [line for line in lines if line.startswith("review\t")] == [
        "review\tBash(npm test)\t12\tRuns the project's own code",
        "review\tBash(pytest -q)\t10\tRuns the project's own code",
    ]
    assert home.json("stats", "bash", "--suggest")["reviewed"][0] == {
        "pattern": "npm test",
        "rule": "Bash(npm test)",
        "count": 12,
        "reason": "Runs the project's own code",
    }
    shown = on_terminal(home, "stats", "bash", "--suggest", NO_COLOR="1")
    assert (
        "Review carefully (exact commands that run the project's own code or tools):\n"
        "  - npm test   (12 uses) Runs the project's own code\n"
        "  - pytest -q  (10 uses) Runs the project's own code\n"
    ) in shown
    settings = ["stats", "bash", "--suggest", "--settings"]
    assert json.loads(home.run(*settings).stdout) == {"permissions": {"allow": ["Bash(pwd:*)"]}}
    assert json.loads(home.run(*settings, "--include-reviewed").stdout) == {
        "permissions": {"allow": ["Bash(pwd:*)", "Bash(npm test)", "Bash(pytest -q)"]}
    }


def test_charts_on_a_terminal(shop: Home) -> None:
    shown = on_terminal(shop, "stats", NO_COLOR="1").splitlines()
    assert shown[:5] == [
        "Sessions   5",
        "Turns      17 (and 1 copy), 51 messages",
        "Tools      17 calls, 1 failed",
        "Tokens     380 in, 167 out, 40 cached, 0 to the cache",
        "Time       2026-09-21 14:42 to 2026-10-11 14:42",
    ]
    assert "  claude_code  ████████████████████  16  4 sessions" in shown
    assert "  codex        █▎                     1  1 session" in shown
    for words in ((), ("tools",), ("tools", "--by", "project"), ("bash",), ("tokens",)):
        lines = on_terminal(shop, "stats", *words, COLUMNS="60", NO_COLOR="1").splitlines()
        assert max(map(len, lines)) <= 60
        assert any("█" in line for line in lines)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("stats nonsense", "invalid value 'nonsense' for WHAT"),
        ("stats bash tools", "invalid value 'bash tools' for WHAT"),
        ("stats --suggest", "--suggest needs bash"),
        ("stats bash --settings", "--settings needs --suggest"),
        ("stats bash --suggest --include-reviewed", "--include-reviewed needs --settings"),
        ("stats bash --by day", "--by day needs tokens"),
        ("stats --by hour", "invalid value 'hour' for --by"),
    ],
)
def test_invalid_arguments_are_exit_2(shop: Home, typed: str, message: str) -> None:
    done = shop.run(*typed.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_stats_refreshes_first(home: Home) -> None:
    file = home.claude()
    file.turn("one", "a")
    file.write()
    assert home.run("stats").stdout.startswith("total\t-\t1\t1\t")
    file.turn("two", "b")
    file.append()
    assert home.run("stats", "--no-refresh").stdout.startswith("total\t-\t1\t1\t")
    assert home.run("stats").stdout.startswith("total\t-\t1\t2\t")


def test_grammar_is_imported_only_to_tally_commands(home: Home) -> None:
    file = home.claude()
    file.turn("one", "a", "ls -l", "x")
    file.write()
    home.index()
    first, second = (imported_modules(home, "stats", "bash", "--no-refresh") for _ in range(2))
    assert ("tree_sitter" in first, "tree_sitter" in second) == (True, False)
    assert "numpy" in second


def test_no_refresh_without_a_store_is_exit_2(home: Home) -> None:
    done = home.run("stats", "--no-refresh")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    "what", ["", "tools", "tools --by project", "bash", "tokens", "bash --suggest"]
)
def test_hostile_names_stay_in_one_field(home: Home, what: str) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in ATTACKS.values()]
    for seed, text in enumerate(texts, 1):
        file = home.claude(seed, cwd=f"/src/{text}")
        file.prompt("go")
        file.result(file.call(text or "x", {}), "ok")
        file.result(file.call("Bash", {"command": f"{text} {text}"}), "ok")
        file.answer("done", model=text, gitBranch=text)
        file.write()
    home.index()
    typed = ["stats", *what.split()]
    done = home.run(*typed)
    assert (done.returncode, acting(done.stdout, "\n\t"), done.stderr) == (0, [], "")
    assert len({line.count("\t") for line in done.stdout.splitlines()}) == 1
    assert acting(home.run(*typed, "--json").stdout) == []
    shown = re.sub(r"\x1b\[[0-9;]*[mK]", "", on_terminal(home, *typed, "-q", "-n", "0"))
    assert acting(shown) == []
