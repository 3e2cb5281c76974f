"""`ccgrep pick` and the shell keys, with the real fzf under tmux."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import iterfzf
import pytest

from ccgrep.fulltext.reader import TextReader
from ccgrep.fulltext.schema import open_tantivy
from ccgrep.output.pick_row import PickPage, format_row, record_of
from ccgrep.output.preview import FindMatches, Window, find_match, highlight, scroll_to
from ccgrep.output.style import Style
from ccgrep.search.query import parse
from ccgrep.search.snippet import SnippetPart, Span, make_snippet, word_finder
from tests.helpers.homes import Home
from tests.helpers.terminal import Terminal, need, put_on_path, wait_until

NASTY = "'; touch pwned; $(touch pwned) `touch pwned` \\"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("pick") / "home")
    work = home.directory / "work"
    work.mkdir()
    first = home.claude(1, name="aaaaaaaa-first", cwd=str(work))
    first.turn("Fix the auth bug", "The token expired too early.", "git status --short", "clean")
    long = "\n".join(f"line {number} of a long answer" for number in range(200))
    first.turn("Tell me more", f"{long}\nand the zebra at the end")
    second = home.claude(2, name="bbbbbbbb-second", cwd="/home/sam/src/api")
    second.turn(f"Does auth need {NASTY}?", "No.", "echo 'two\nlines'", "x")
    second.turn("Rotate the token", "Rotated.", "make 'rotate' # $(touch pwned)", "ok")
    for file in (first, second):
        file.write()
    home.index()
    put_on_path(home)
    browser = home.directory / "bin" / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {home.directory}/opened\n', encoding="utf-8")
    claude = home.directory / "bin" / "claude"
    claude.write_text(f'#!/bin/sh\necho "$PWD $*" > {home.directory}/resumed\n', encoding="utf-8")
    for program in (browser, claude):
        program.chmod(0o755)
    return home


@pytest.fixture(params=["installed fzf", "bundled fzf"])
def terminal(
    shop: Home, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Terminal]:
    need("fzf", "tmux")
    fzf = shop.directory / "bin" / "fzf"
    fzf.unlink(missing_ok=True)
    if request.param == "bundled fzf":
        fzf.symlink_to(str(iterfzf.BUNDLED_EXECUTABLE))
    shell = f"env BROWSER={shop.directory}/bin/browser PS1='$ ' bash --norc --noprofile"
    terminal = Terminal(shop, tmp_path_factory.mktemp("t"), shell)
    yield terminal
    assert not (shop.directory / "pwned").exists()
    terminal.close()


def start(terminal: Terminal, command: str) -> None:
    terminal.type(command)
    terminal.press("Enter")


def wait_for(terminal: Terminal, path: Path) -> str:
    terminal.wait(lambda _: path.exists() and path.stat().st_size > 0)
    return path.read_text(encoding="utf-8")


def test_pick_searches_while_typing_and_prints_the_record(
    terminal: Terminal, tmp_path: Path
) -> None:
    chosen = tmp_path / "chosen"
    start(terminal, f"ccgrep pick > {chosen}")
    terminal.wait(lambda screen: "4/4" in screen and "Rotate the token" in screen)
    terminal.type("auth")
    terminal.wait(lambda screen: "2/2" in screen)
    terminal.type(" bug")
    shown = terminal.wait(lambda screen: "1/1" in screen and "assistant: The token" in screen)
    assert "Session aaaaaaaa-first" in shown
    terminal.press("Enter")
    assert wait_for(terminal, chosen) == "aaaaaaaa:0:1.000:Fix the auth bug\n"


def test_pick_starts_with_the_pattern_and_filters(terminal: Terminal, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    start(terminal, f"ccgrep pick --session bbbbbbbb -t user auth | cut -d: -f1,2 > {chosen}")
    terminal.wait(lambda screen: "1/1" in screen and "assistant: No." in screen)
    terminal.press("Enter")
    assert wait_for(terminal, chosen) == "bbbbbbbb:0\n"


def test_wrapped_row_of_the_preview_cannot_look_like_a_border(home: Home) -> None:
    file = home.claude(name="first")
    file.turn("why " * 8 + "--- 1 @0123456789 2026-09-21 14:42 " + "zebra " * 20, "because")
    file.write()
    home.index()
    size = {"FZF_PREVIEW_COLUMNS": "40", "FZF_PREVIEW_LINES": "40"}
    record = home.run("zebra").stdout.strip()
    shown = home.run("__pick", "preview", "zebra", record, env=size).stdout
    rows = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    assert "    --- 1 @0123456789 2026-09-21 14:42" in rows
    assert [row for row in rows if row.startswith("---")] == [rows[rows.index("") + 1]]
    assert max(map(len, rows[1:])) <= 40


def test_row_has_no_space_before_a_match_within_a_word() -> None:
    parts = [SnippetPart("word " * 40 + "POST /auth/", False), SnippetPart("refresh", True)]
    page = PickPage(80, 0, Style(False))
    assert "/auth/refresh" in format_row("a:0:1:x", "/src/shop", 0, parts, page)


def test_preview_scrolls_to_the_match(terminal: Terminal) -> None:
    start(terminal, "ccgrep pick zebra")
    shown = terminal.wait(lambda screen: " lines above" in screen)
    assert "│     and the zebra at the end" in shown
    row = next(line for line in shown.splitlines() if "…" in line)
    assert re.search(r"\w+ work +….*answer and the zebra at the end", row), row
    assert "Session aaaaaaaa-first" in shown
    terminal.press("C-c")


def test_query_and_messages_never_reach_a_shell(
    shop: Home, terminal: Terminal, tmp_path: Path
) -> None:
    chosen = tmp_path / "chosen"
    start(terminal, f"ccgrep pick {shlex.quote(NASTY)} > {chosen}")
    terminal.wait(lambda screen: "2/2" in screen and "assistant: No." in screen)
    terminal.type(" \"'$(touch pwned)")
    terminal.wait(lambda screen: "2/2" in screen and "assistant: No." in screen)
    terminal.press("C-y")
    terminal.wait(lambda screen: "copied>" in screen)
    terminal.press("Enter")
    assert wait_for(terminal, chosen).startswith("bbbbbbbb:0:1.000:Does auth need '; touch pwned;")


def test_keys_copy_the_ref_and_open_the_page(shop: Home, terminal: Terminal) -> None:
    start(terminal, "ccgrep pick bug")
    terminal.wait(lambda screen: "1/1" in screen)
    terminal.press("C-y")
    terminal.wait(lambda screen: "copied>" in screen)
    assert terminal.buffer() == "aaaaaaaa:0"
    terminal.press("C-o")
    page = Path(wait_for(terminal, shop.directory / "opened").strip())
    assert page == shop.directory / ".cache" / "ccgrep" / "pages" / "aaaaaaaa.html"
    assert "Fix the auth bug" in page.read_text(encoding="utf-8")
    assert page.stat().st_mode & 0o77 == 0
    terminal.press("C-c")


def test_resume_key_works_in_a_pipe(shop: Home, terminal: Terminal) -> None:
    start(terminal, "ccgrep pick bug | cat")
    terminal.wait(lambda screen: "1/1" in screen)
    terminal.press("C-r")
    resumed = wait_for(terminal, shop.directory / "resumed")
    assert resumed == f"{shop.directory}/work --resume aaaaaaaa-first\n"


def test_key_switches_between_word_and_semantic_search(terminal: Terminal) -> None:
    start(terminal, "ccgrep pick token")
    terminal.wait(lambda screen: "by words" in screen and "2/2" in screen)
    terminal.press("C-t")
    # Nothing is embedded, so the header has a message.
    terminal.wait(lambda screen: "by meaning: " in screen and "0/0" in screen)
    terminal.press("C-t")
    terminal.wait(lambda screen: "by words" in screen and "2/2" in screen)
    terminal.press("C-c")


def test_key_stars_a_turn_and_removes_the_star(terminal: Terminal) -> None:
    start(terminal, "ccgrep pick Rotate")
    terminal.wait(lambda screen: "1/1" in screen and "★" not in screen)
    terminal.press("C-s")
    terminal.wait(lambda screen: "★ Rotate the token" in screen)
    terminal.press("C-s")
    terminal.wait(lambda screen: "1/1" in screen and "★" not in screen)
    terminal.press("C-c")


def test_semantic_mode_finds_a_paraphrase(
    home: Home, tmp_path_factory: pytest.TempPathFactory
) -> None:
    need("fzf", "tmux")
    home.embed = "auto"
    file = home.claude(name="aaaaaaaa-memory")
    file.turn("The worker keeps eating RAM until the kernel kills it", "An LRU bounds it now.")
    file.turn("Rotate the logs", "logrotate runs every night.")
    file.write()
    assert home.run("index", "-q", "--embed-all").returncode == 0
    put_on_path(home)
    terminal = Terminal(home, tmp_path_factory.mktemp("t"))
    try:
        start(terminal, "ccgrep pick process leaks memory and gets out-of-memory terminated")
        terminal.wait(lambda screen: "by words" in screen and "0/0" in screen)
        terminal.press("C-t")
        terminal.wait(lambda screen: "by meaning" in screen and "The worker keeps" in screen)
        terminal.wait(lambda screen: "assistant: An LRU bounds it now." in screen)
    finally:
        terminal.close()


def test_ctrl_c_prints_nothing_and_exits_130(terminal: Terminal, tmp_path: Path) -> None:
    status = tmp_path / "status"
    start(terminal, f"ccgrep pick auth; echo $? > {status}")
    terminal.wait(lambda screen: "2/2" in screen)
    terminal.press("C-c")
    assert wait_for(terminal, status) == "130\n"


def test_closing_the_terminal_removes_temporary_files(
    shop: Home, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    need("fzf", "tmux")
    terminal = Terminal(shop, tmp_path_factory.mktemp("t"))
    start(terminal, f"TMPDIR={tmp_path} ccgrep pick")
    terminal.wait(lambda screen: "4/4" in screen)
    assert len(list(tmp_path.glob("ccgrep-pick-*"))) == 1
    terminal.close()
    wait_until(lambda: list(tmp_path.iterdir()) == [], f"files are left in {tmp_path}")


def test_commands_option_picks_a_command_that_an_agent_ran(
    terminal: Terminal, tmp_path: Path
) -> None:
    chosen = tmp_path / "chosen"
    start(terminal, f"ccgrep pick --commands > {chosen}")
    # The command of two lines is not offered.
    terminal.wait(lambda screen: "2/2" in screen)
    terminal.type("status")
    terminal.wait(lambda screen: "1/2" in screen)
    terminal.press("Enter")
    assert wait_for(terminal, chosen) == "git status --short\n"


def test_missing_fzf_is_an_error_with_a_fix(shop: Home) -> None:
    done = shop.run("pick", "auth", env={"PATH": "/nowhere"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "apt install fzf" in done.stderr


def test_pick_without_a_terminal_is_exit_2(shop: Home) -> None:
    need("fzf")
    done = subprocess.run(
        [sys.executable, "-m", "ccgrep", "pick"],
        env={**shop.environment, "TERM": "xterm"},
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    assert (done.returncode, "needs a terminal" in done.stderr) == (2, True)


def test_pick_on_a_dumb_terminal_suggests_a_search(shop: Home) -> None:
    need("fzf")
    done = shop.run("pick", env={"TERM": "dumb"})
    assert (done.returncode, "use `ccgrep PATTERN`" in done.stderr) == (2, True)


# Shell keys

KEYS = {
    "bash": "env PS1='$ ' bash --norc --noprofile",
    "zsh": "env PS1='$ ' zsh -f",
    "fish": "fish --no-config",
}


@pytest.mark.parametrize("shell", KEYS)
def test_keys_insert_a_ref_and_a_past_command(
    shop: Home, tmp_path_factory: pytest.TempPathFactory, shell: str
) -> None:
    need("fzf", "tmux", shell)
    terminal = Terminal(shop, tmp_path_factory.mktemp("t"), KEYS[shell])
    try:
        source = "eval \"$(ccgrep completions {} --keys)\"; PS1='$ '"
        fish = "ccgrep completions fish --keys | source; function fish_prompt; echo '$ '; end"
        loading = fish if shell == "fish" else source.format(shell)
        start(terminal, f"{loading}; echo loa''ded")
        terminal.wait(lambda screen: "loaded\n$" in screen)
        terminal.clear()
        terminal.type("echo ccgrep show ")
        terminal.press("C-g")
        terminal.wait(lambda screen: "4/4" in screen)
        terminal.type("zebra")
        terminal.wait(lambda screen: "1/1" in screen)
        terminal.press("Enter")
        terminal.wait(lambda screen: "$ echo ccgrep show aaaaaaaa:1" in screen)
        terminal.type(" ")
        terminal.press("M-g")
        terminal.wait(lambda screen: "2/2" in screen)
        terminal.type("rotate")
        terminal.wait(lambda screen: "1/2" in screen)
        terminal.press("Enter")
        terminal.wait(lambda screen: "aaaaaaaa:1 make 'rotate' # $(touch pwned)" in screen)
        assert not (shop.directory / "pwned").exists()
    finally:
        terminal.close()


# Preview


WORDS = TextReader(open_tantivy(None))


def finder(query: str) -> FindMatches:
    return word_finder(parse(query, WORDS.stems, WORDS.tokens), WORDS.stems)


def test_match_is_located_across_rows_and_cuts() -> None:
    rows = ["head", "", "user: one  two", "   three four", "five"]
    assert find_match(rows, "…two three…", finder("two")) == 2
    assert find_match(rows, "…two three…", finder("three")) == 3
    assert find_match(rows, "one two three…", finder("zebra")) == 2
    assert find_match(rows, "nothing like it", finder("two")) is None
    assert find_match(rows, "…", finder("two")) is None


def test_rows_are_skipped_only_before_a_distant_match() -> None:
    rows = ["head", "", *map(str, range(50))]
    assert scroll_to(rows, 5, Window()) == rows
    assert scroll_to(rows, None, Window()) == rows
    shown = scroll_to(rows, 42, Window())
    assert shown[:4] == ["head", "", "⋮ 33 lines above", "33"]
    assert shown.index("40") < 12


@pytest.mark.parametrize("window", [Window(40, 12), Window(70, 40), Window(20, 5)])
def test_match_is_in_the_window_whatever_wraps(window: Window) -> None:
    """A match far below, after long rows, and far within a long row."""
    find = finder("zebra")
    long = "word " * 2000
    for rows in (
        ["head", "", *[long] * 5, "a zebra", *[long] * 5],
        ["head" * 50, "", *["short"] * 100, f"\x1b[32massistant:\x1b[0m {long} zebra {long}"],
    ):
        match = find_match(rows, "a zebra" if "a zebra" in rows else "word zebra word", find)
        text = "\n".join(scroll_to(rows, match, window, find))
        before = text[: text.index("zebra")].split("\n")
        assert sum(max(-(-len(row) // window.width), 1) for row in before) <= window.height


def test_highlighting_marks_what_matches_and_skips_color_sequences() -> None:
    row = "\x1b[36muser:\x1b[0m Fix 36 auths, author"
    assert highlight(row, finder("36 auth"), Style(True)) == (
        "\x1b[36muser:\x1b[0m Fix \x1b[1;31m36\x1b[0m \x1b[1;31mauths\x1b[0m, author"
    )
    assert highlight(row, finder("("), Style(True)) == row


# Rows


@pytest.mark.parametrize("width", [40, 68, 150])
def test_row_shows_age_and_project_and_has_the_match_in_its_middle(width: int) -> None:
    page = PickPage(width, 3 * 86_400_000, Style())
    text = "word " * 200 + "zebra" + " word" * 200
    parts = make_snippet(text, [Span(1000, 1005)], 2 * page.text_width)
    row = format_row("aaaaaaaa:0:1.000:x", "/home/sam/src/shop", 86_400_000, parts, page)
    record, _, shown = row.partition("\t")
    assert (record, record_of(row)) == ("aaaaaaaa:0:1.000:x",) * 2
    assert shown.startswith("  2d shop           …")
    assert len(shown) <= max(width, 40)
    middle = (20 + len(shown)) // 2
    assert abs(shown.index("zebra") + 2 - middle) <= 6


def test_row_with_a_match_near_the_start_begins_with_the_text() -> None:
    page = PickPage(60, 0, Style())
    parts = [SnippetPart("Fix the ", False), SnippetPart("auth", True), SnippetPart(" bug", False)]
    assert format_row("r", "", 0, parts, page) == "r\t   ? -              Fix the auth bug"
