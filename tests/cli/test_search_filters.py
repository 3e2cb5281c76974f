"""The filters of a search."""

import os
import subprocess
import time
import unicodedata
from pathlib import Path
from typing import Literal

import pytest

from tests.helpers.homes import Home
from tests.helpers.transcripts import Lines

HOUR_MS = 3_600_000
NOW_MS = time.time_ns() // 1_000_000


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Return a home with `widget` in five sessions that differ in everything a filter tests.

    shop    40 days old; turn 0 has a message, 1 a Bash call, 2 thinking; an agent a minute later
    api     3 days old; another project, branch and model; turn 0 with Read
    codex   20 hours old; turn 0 with shell
    web     1 hour old; a project below a directory of the same name as shop's
    """
    home = Home(tmp_path_factory.mktemp("filters") / "home")
    shop = home.claude(1, name="shop1111-x")
    set_time(shop, 40 * 24)
    shop.turn("the widget is broken", "Which one?")
    shop.turn("run it", "Done.", "make widget", "all fine")
    shop.prompt("think about it")
    shop.blocks({"type": "thinking", "thinking": "a widget, hm"}, {"type": "text", "text": "Yes."})
    agent = home.subagent(shop, "agent-a1111111")
    agent.now_ms = shop.now_ms + 60_000
    agent.turn("find every widget", "Seven of them.")
    api = home.claude(2, slug="-home-sam-src-api", name="api22222-x", cwd="/home/sam/src/api")
    set_time(api, 3 * 24)
    api.prompt("serve it as JSON", gitBranch="feature/json")
    api.result(
        api.call(
            "Read", {"file_path": "api.py"}, model="claude-sonnet-5", gitBranch="feature/json"
        ),
        "widget = None",
        gitBranch="feature/json",
    )
    api.answer("The widget is served.", model="claude-sonnet-5", gitBranch="feature/json")
    codex = home.codex(3, cwd="/home/sam/src/tools")
    set_time(codex, 20)
    codex.meta()
    codex.turn("sort the widgets", "Sorted.", "ls widgets", "a b c")
    web = home.claude(4, slug="-home-sam-web", name="web44444-x", cwd="/home/sam/web/SHOP/ui")
    set_time(web, 1)
    web.turn("draw the widget", "Drawn.")
    for file in (shop, agent, api, codex, web):
        if isinstance(file, type(shop)):
            file.meta("custom-title", customTitle="-")
        file.write()
    home.index()
    return home


def set_time(file: Lines, hours_ago: float) -> None:
    """Set the time of the next records."""
    file.now_ms = NOW_MS - int(hours_ago * HOUR_MS)


NAMES = {"shop1111": "shop", "agent-a1": "agent", "api22222": "api", "web44444": "web"}


def found(home: Home, *arguments: str, cwd: Path | None = None, stdin: str = "") -> list[str]:
    """Return the matching turns, sorted."""
    done = home.run("-n", "0", *arguments, cwd=cwd, input=stdin)
    assert done.returncode == (0 if done.stdout else 1), done.stderr
    assert bool(done.stderr) == (not done.stdout)  # Only a search without hits says why.
    rows = [line.split(":") for line in done.stdout.splitlines()]
    return sorted(f"{NAMES.get(row[0], 'codex')}:{row[1]}" for row in rows)


EVERY = ["agent:0", "api:0", "codex:0", "shop:0", "shop:1", "shop:2", "web:0"]
CASES: tuple[tuple[str, list[str]], ...] = (
    ("", EVERY),
    # Project: a part of the path, ignoring case
    ("-p src/shop", ["agent:0", "shop:0", "shop:1", "shop:2"]),
    ("-p SRC/SHOP", ["agent:0", "shop:0", "shop:1", "shop:2"]),
    ("-p shop", ["agent:0", "shop:0", "shop:1", "shop:2", "web:0"]),
    ("--project=tools", ["codex:0"]),
    # Time of the turn
    ("-s 2h", ["web:0"]),
    ("--since 2d", ["codex:0", "web:0"]),
    ("--since yesterday", ["codex:0", "web:0"]),
    ("-s 1w", ["api:0", "codex:0", "web:0"]),
    ("--until 2h", ["agent:0", "api:0", "codex:0", "shop:0", "shop:1", "shop:2"]),
    ("-s 1w --until 2d", ["api:0"]),
    ("--since 1m", []),
    ("--since 2001-01-15", EVERY),
    ("--until 2001-01-15T10:30", []),
    # Kind of text
    ("-t user", ["agent:0", "codex:0", "shop:0", "web:0"]),
    ("-t assistant", ["api:0"]),
    ("-t tool", ["api:0", "codex:0", "shop:1"]),
    ("-t thinking", ["shop:2"]),
    ("-t tool -t thinking", ["api:0", "codex:0", "shop:1", "shop:2"]),
    # Tools
    ("--tool Bash", ["shop:1"]),
    ("--tool bash", ["shop:1"]),
    ("--tool READ", ["api:0"]),
    ("--tool any", ["api:0", "codex:0", "shop:1"]),
    ("--tool Nonesuch", []),
    # Source
    ("--source codex", ["codex:0"]),
    ("--source claude-code", [x for x in EVERY if x != "codex:0"]),
    ("--source claude_code", [x for x in EVERY if x != "codex:0"]),
    # Session
    ("--session api22222", ["api:0"]),
    ("--session api22222-x", ["api:0"]),
    ("--session api", ["api:0"]),
    ("--session shop1111:2:0.500:whatever", ["shop:0", "shop:1", "shop:2"]),
    ("--session web --session api", ["api:0", "web:0"]),
    # Branch and model
    ("--branch feature/json", ["api:0"]),
    ("--branch main", [x for x in EVERY if x != "api:0"]),
    ("--branch mai", []),
    ("--model-name sonnet", ["api:0"]),
    ("--model-name OPUS", ["agent:0", "shop:0", "shop:1", "shop:2", "web:0"]),
    ("--model-name gpt-5", ["codex:0"]),
    ("--model-name nonesuch", []),
    # Sub-agents
    ("--subagents include", EVERY),
    ("--subagents only", ["agent:0"]),
    ("--subagents exclude", [x for x in EVERY if x != "agent:0"]),
    # The most recent sessions
    ("--max-sessions 1", ["web:0"]),
    ("--max-sessions 2", ["codex:0", "web:0"]),
    ("--max-sessions 1 --source claude-code -p src/shop", ["agent:0"]),
    ("--max-sessions 99", EVERY),
    # Repeated filters are alternatives.
    ("-p src/api -p tools", ["api:0", "codex:0"]),
    ("-p nowhere -p tools", ["codex:0"]),
    ("--tool bash --tool READ", ["api:0", "shop:1"]),
    ("--tool Nonesuch --tool any", ["api:0", "codex:0", "shop:1"]),
    ("--source codex --source claude-code", EVERY),
    ("--branch feature/json --branch main", EVERY),
    ("--model-name sonnet --model-name gpt", ["api:0", "codex:0"]),
    # Surfaces
    ("--surface prompt", ["agent:0", "codex:0", "shop:0", "web:0"]),
    ("--surface answer", ["api:0"]),
    ("--surface full -t assistant", ["api:0"]),
    # Combinations
    ("-p src --tool any -t tool --source claude-code -s 1w", ["api:0"]),
)


@pytest.mark.parametrize(("options", "expected"), CASES, ids=[case[0] for case in CASES])
def test_filter(shop: Home, options: str, expected: list[str]) -> None:
    assert found(shop, *options.split(), "widget") == expected


EXACT = [case for case in CASES if "-t " not in case[0]]
DISCUSSION = {"agent:0", "api:0", "codex:0", "shop:0", "web:0"}


@pytest.mark.parametrize(("options", "expected"), EXACT[::2], ids=[case[0] for case in EXACT[::2]])
def test_filter_with_exact_patterns(shop: Home, options: str, expected: list[str]) -> None:
    expected = [place for place in expected if place in DISCUSSION]
    assert found(shop, *options.split(), "-F", "widget") == expected
    assert found(shop, *options.split(), "-E", "widg.t", "--no-index") == expected


@pytest.mark.parametrize("kind", ["user", "assistant", "tool", "thinking"])
def test_type_selects_the_text_of_exact_patterns(shop: Home, kind: str) -> None:
    expected = next(places for options, places in CASES if options == f"-t {kind}")
    for arguments in (["-F", "widget"], ["-E", "w.dget"], ["-F", "widget", "--no-index"]):
        assert found(shop, "-t", kind, *arguments) == expected


def test_exact_patterns_search_the_discussion_by_default(shop: Home) -> None:
    assert found(shop, "-F", "make widget") == []
    assert found(shop, "-F", "make widget", "-t", "tool") == ["shop:1"]


@pytest.mark.parametrize("arguments", [["widget"], ["-F", "widget"], ["-E", "x", "--no-index"]])
def test_unknown_project_is_named_in_the_message(shop: Home, arguments: list[str]) -> None:
    done = shop.run("-p", "nosuch", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr
        == "ccgrep: no sessions found for project 'nosuch': `ccgrep list` shows the projects\n"
    )


def test_session_from_standard_input(shop: Home) -> None:
    for lines in ("api\nweb\n", "api22222:0:1.000:some text: more\nweb44444\tage\tproject\n"):
        assert found(shop, "--session", "-", "widget", stdin=lines) == ["api:0", "web:0"]


def test_unknown_and_ambiguous_sessions_are_exit_2(shop: Home) -> None:
    done = shop.run("--session", "nonesuch", "widget")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no session matches 'nonesuch'" in done.stderr
    done = shop.run("--session", "", "widget")
    assert done.returncode == 2


def test_ambiguous_session_lists_candidates(home: Home) -> None:
    for seed in (1, 2):
        file = home.claude(seed, name=f"deadbeef-{seed}")
        file.turn(f"widget {seed}", "ok")
        file.write()
    done = home.run("--session", "dead", "widget")
    assert (done.returncode, done.stdout) == (2, "")
    assert "deadbeef-1" in done.stderr and "deadbeef-2" in done.stderr


def test_here_selects_the_project_of_the_current_directory(home: Home, tmp_path: Path) -> None:
    project = tmp_path / "work" / "shop"
    for seed, cwd in enumerate((project, tmp_path / "work" / "shopping", tmp_path / "other"), 1):
        (cwd / "src" / "deep").mkdir(parents=True)
        file = home.claude(seed, cwd=str(cwd), name=f"{cwd.name:x<8}-{seed}")
        file.turn(f"widget {seed}", "ok")
        file.write()
    home.index()

    def here(directory: Path) -> list[str]:
        done = home.run("--here", "-l", "widget", cwd=directory)
        assert done.stderr == ""
        return sorted(done.stdout.split())

    assert here(project) == ["shopxxxx"]
    assert here(project / "src" / "deep") == ["shopxxxx"]
    assert here(tmp_path / "work") == ["shopping", "shopxxxx"]
    (tmp_path / "elsewhere").mkdir()
    done = home.run("--here", "widget", cwd=tmp_path / "elsewhere")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"no sessions found for project '{tmp_path / 'elsewhere'}'" in done.stderr


def test_here_follows_a_git_repository_to_its_root(home: Home, tmp_path: Path) -> None:
    (tmp_path / "repo" / "sub").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", tmp_path / "repo"], check=True, env=dict(os.environ))
    file = home.claude(1, cwd=str(tmp_path / "repo"))
    file.turn("widget", "ok")
    file.write()
    assert home.run("--here", "-q", "widget", cwd=tmp_path / "repo" / "sub").returncode == 0


@pytest.mark.parametrize("forms", [("NFC", "NFD"), ("NFD", "NFC")])
def test_project_matches_in_either_unicode_form(
    home: Home, tmp_path: Path, forms: tuple[Literal["NFC", "NFD"], Literal["NFC", "NFD"]]
) -> None:
    recorded, typed = (str(tmp_path / unicodedata.normalize(form, "Café")) for form in forms)
    os.mkdir(typed)
    file = home.claude(1, cwd=recorded)
    file.turn("widget", "ok")
    file.write()
    assert home.run("--here", "-q", "widget", cwd=typed).returncode == 0
    project = os.path.basename(typed).lower()
    assert home.run("--project", project, "-q", "widget").returncode == 0


def test_capital_l_applies_the_filters(shop: Home) -> None:
    done = shop.run("-L", "-p", "src", "--source", "claude-code", "-F", "served")
    assert sorted(done.stdout.split()) == ["agent-a1", "shop1111"]


def test_dates_are_local_unless_they_name_a_zone(home: Home) -> None:
    file = home.claude(1)
    file.turn("widget", "ok")  # 2026-09-21T14:42:09Z
    file.write()
    home.index()
    tokyo = {"TZ": "Asia/Tokyo"}
    for until, env, code in (
        ("2026-09-21T14:42:09", {}, 0),
        ("2026-09-21T14:42:08", {}, 1),
        ("2026-09-21T23:42:09", tokyo, 0),
        ("2026-09-21T23:42:08", tokyo, 1),
        ("2026-09-21T14:42:09Z", tokyo, 0),
        ("2026-09-21T16:42:08+02:00", tokyo, 1),
    ):
        assert home.run("--until", until, "widget", env=env).returncode == code, (until, env)
    assert home.run("--since", "2026-09-21T14:42:09", "widget").returncode == 0
    assert home.run("--since", "2026-09-21T14:42:10", "widget").returncode == 1
