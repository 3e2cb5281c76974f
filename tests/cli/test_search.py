"""`ccgrep PATTERN`: record lines, exit codes, and the options that change the output."""

import re

import pytest

from ccgrep.text import columns
from tests.helpers.homes import Home

RECORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,63}:[0-9]+:[01]\.[0-9]{3}:.*")
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e\u2028\u2029\U000e0041]")
NASTY = "esc\x1b[31m bell\x07 bidi\u202e zero\u200b tag\U000e0041 nel\x85 ls\u2028 cr\r\n vt\x0b"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Return a home with three sessions: two mention `auth`, the third has `deploy` in 25 turns."""
    home = Home(tmp_path_factory.mktemp("search") / "home")
    first = home.claude(1, name="aaaaaaaa-first")
    first.turn("Fix the auth bug", "The token expired: auth: is fixed.")
    first.turn("thanks", "You're welcome.")
    first.turn("auth again, please", "Done.")
    first.turn("last words", "Bye.")
    second = home.claude(2, name="bbbbbbbb-second")
    second.turn("Is auth needed here?", "No.")
    second.turn("日本語の検索を直して", "検索を直しました。")
    third = home.claude(3, name="cccccccc-third")
    for number in range(25):
        third.turn(f"deploy number {number} " + "to the east and the west " * 12, "Deployed.")
    for file in (first, second, third):
        file.meta("custom-title", customTitle="-")
        file.write()
    home.index()
    return home


def out(home: Home, *arguments: str) -> list[str]:
    """Return the lines of a search that has hits and prints no warning."""
    done = home.run(*arguments)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


def ids(lines: list[str]) -> list[str]:
    return [":".join(line.split(":")[:2]) for line in lines]


def bare(lines: list[str]) -> list[str]:
    """Return the records without their scores."""
    return [re.sub(r"([:-])[01]\.\d\d\d(?=\1)", "", line, count=1) for line in lines]


# Records


@pytest.mark.parametrize(
    "arguments",
    [("auth",), ("-F", "auth"), ("-E", "a.th"), ("-v", "auth"), ("-o", "auth"), ("deploy", "-n0"),
     ("検索",), ("-F", "a", "-t", "user", "-t", "assistant"), ("east west",), ("-F", ":")],
)  # fmt: skip
def test_every_line_is_a_record_and_scores_never_increase(
    shop: Home, arguments: tuple[str, ...]
) -> None:
    lines = out(shop, *arguments)
    assert all(RECORD.fullmatch(line) for line in lines)
    scores = [float(line.split(":")[2]) for line in lines]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_record_has_session_turn_score_and_the_text_around_the_match(shop: Home) -> None:
    expected = ["aaaaaaaa:0:The token expired: auth: is fixed."]
    assert bare(out(shop, "-F", "auth:")) == expected
    assert out(shop, "again") == ["aaaaaaaa:2:1.000:auth again, please"]


def test_hostile_text_stays_on_one_line_per_hit(home: Home) -> None:
    file = home.claude(1, cwd=f"/tmp/{NASTY}")
    for number in range(3):
        file.turn(f"needle {NASTY} a:1:0.5:b {number}", f"{NASTY}\nneedle\n{NASTY}")
    file.meta("custom-title", customTitle=f"needle {NASTY}")
    file.write()
    home.index()
    for arguments in (["needle"], ["-F", "needle"], ["-F", "bell\x07"], ["-v", "x"], ["zero"]):
        lines = out(home, *arguments)
        assert len(lines) == 3, arguments
        assert all(RECORD.fullmatch(line) for line in lines)
        assert not CONTROL.search("\n".join(lines))
    assert "esc bell\\x07 bidi\\u{202e}" in out(home, "needle")[0]


def test_colored_text_is_found_as_a_terminal_shows_it(home: Home) -> None:
    file = home.claude(1)
    file.prompt("run the tests: \x1b[1mokapi\x1b[0m")
    call = file.call("Bash", {"command": "pytest"})
    file.result(call, "\x1b[1;32mzeb\x1b[0mra\x1b[m\x1b[K passed")
    file.answer("The \x1b[31mgiraffe\x1b[0m test fails.")
    file.write()
    home.index()
    exact = ["-F", "zebra passed", "-t", "tool"]
    for typed in (["zebra"], ["zebra passed"], ['"zebra passed"'], exact, ["--no-index", *exact]):
        assert out(home, *typed)[0].endswith("Bash pytest zebra passed"), typed
    assert out(home, "giraffe")[0].endswith("The giraffe test fails.")
    assert out(home, "-F", "tests: okapi")[0].endswith("run the tests: okapi")
    shown = home.run("show", file.id, "--tools").stdout
    assert "zebra passed" in shown and "x1b" not in shown


@pytest.mark.parametrize(
    "name", ["-rf", "$(touch x)", "a b", "x" * 200, "ünï-code", "short", "a:b:c"]
)
def test_hostile_session_id_is_replaced_by_a_safe_one(home: Home, name: str) -> None:
    file = home.claude(1, name=name)
    file.turn("needle", "found")
    file.write()
    (line,) = out(home, "--full-id", "needle")
    assert RECORD.fullmatch(line)
    shown = home.run("show", ":".join(line.split(":")[:2]))
    assert (shown.returncode, "user: needle" in shown.stdout) == (0, True)


def test_short_ids_grow_until_they_are_unique(home: Home) -> None:
    names = ["deadbeef-0000-1", "deadbeef-0000-2", "deadbeef-1111-1", "cafecafe-0000-1"]
    for seed, name in enumerate(names, 1):
        file = home.claude(seed, name=name)
        file.turn(f"needle {seed}", "found")
        file.write()
    home.index()
    found = sorted(line.split(":")[0] for line in out(home, "needle"))
    assert found == ["cafecafe", "deadbeef-0000-1", "deadbeef-0000-2", "deadbeef-1"]


# Exit codes


def test_exit_codes(shop: Home) -> None:
    assert shop.run("auth").returncode == 0
    for arguments in (["kangaroo"], ["-F", "kangaroo"], ["-E", "kanga(roo|s)"]):
        done = shop.run(*arguments)
        expected = (1, "", "ccgrep: 0 of 31 turns match\n")
        assert (done.returncode, done.stdout, done.stderr) == expected


@pytest.mark.parametrize(
    "arguments", [("",), ("-F", ""), ("-E", ""), ("  ",), ("search",), ("-l",)]
)
def test_empty_query_is_exit_2(shop: Home, arguments: tuple[str, ...]) -> None:
    done = shop.run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Query required" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-E", "("), "RE2 rejects the pattern"),
        (("-E", "-F", "x"), "-E and -F cannot be combined"),
        (("--since", "soon", "x"), "invalid time 'soon'"),
        (("--type", "song", "x"), "invalid value 'song' for --type: use one of user, "),
        (("--source", "vim", "x"), "invalid value 'vim' for --source"),
        (("--nonsense", "x"), "unknown option '--nonsense'"),
        (("-n", "many", "x"), "invalid value 'many' for --limit: use a whole number"),
        (("-n", "-3", "x"), "'-3' for --limit: use a whole number, at most 999,999,999"),
        (("x", "-n"), "--limit needs a value: use --limit N"),
        (("--timeout", "soon", "x"), "invalid value 'soon' for --timeout"),
        (("--timeout", "-1", "x"), "invalid value '-1' for --timeout"),
        (("--timeout", "nan", "x"), "invalid value 'nan' for --timeout"),
        (("--timeout", "inf", "x"), "invalid value 'inf' for --timeout"),
        (("--json", "-l", "x"), "--json and -l cannot be combined: use one of them"),
        (("-co", "x"), "-c and -o cannot be combined: use one of them"),
        (("--json", "--width", "50", "x"), "--json and --width cannot be combined"),
        (("-F", "--semantic", "x"), "-F and --semantic cannot be combined: use one of them"),
        (("--since", "1d", "--until", "2d", "x"), "--since 1d and --until 2d exclude every turn"),
        (("--surface", "prompt", "-t", "tool", "x"), "-t tool and --surface prompt have no text"),
        (("--force", "x"), "unknown option '--force': it is an option of `ccgrep restore`"),
        (("--no-verify", "x"), "unknown option '--no-verify': to search for it, put -- before it"),
        (("--mode", "words", "x"), "unknown option '--mode': did you mean --model?\n"),
        (("--sematic", "x"), "unknown option '--sematic': did you mean --semantic?"),
        (("--proj=x", "x"), "unknown option '--proj=x': did you mean --project?"),
        (("-json", "x"), "unknown option '-json': did you mean --json?"),
        (("--session", "zzzzzzzz", "x"), "no session matches"),
    ],
)
def test_usage_error_is_exit_2_with_a_message(
    shop: Home, arguments: tuple[str, ...], message: str
) -> None:
    done = shop.run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.startswith("ccgrep: ")


def test_options_before_a_command_make_it_a_word_to_search_for(shop: Home) -> None:
    done = shop.run("-n", "3", "list")
    hint = "searched for 'list': to run the command, type it first: `ccgrep list -n 3`"
    assert hint in done.stderr
    for typed in (("-i", "list"), ("-q", "-n", "3", "list"), ("list the orders",), ("list", "-n3")):
        assert "searched for" not in shop.run(*typed).stderr


def test_the_commands_that_have_an_option_are_not_all_named(shop: Home) -> None:
    done = shop.run("status", "--no-refresh")
    message = "unknown option '--no-refresh': only "
    assert done.returncode == 2 and message in done.stderr and len(done.stderr) < 110


@pytest.mark.parametrize(
    "arguments",
    [
        ("\udcff",),
        ("caf\udce9 auth",),
        ("-F", "\udcff"),
        ("-E", "\udcff"),
        ("-e", "auth", "-e", "\udcff\udcfe"),
        ("--json", "\udcff"),
        ("-p", "\udcff", "auth"),
        ("--tool", "\udcff", "auth"),
        ("--branch", "\udcff", "auth"),
        ("--model-name", "\udcff", "auth"),
        ("--session", "\udcff", "auth"),
    ],
    ids=ascii,
)
def test_arguments_that_are_not_utf8_do_not_crash(shop: Home, arguments: tuple[str, ...]) -> None:
    """Python decodes bytes that are not UTF-8 as lone surrogates."""
    done = shop.run(*arguments)
    assert done.returncode in (0, 1, 2)
    assert all(line.startswith("ccgrep: ") for line in done.stderr.splitlines()), done.stderr
    assert "codec" not in done.stderr
    assert "full-text index" not in done.stderr


def test_timeout_is_exit_2_with_a_message(shop: Home) -> None:
    done = shop.run("--timeout", "0.000001", "-E", "e.*e")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the search timed out" in done.stderr


# Limits


def test_ten_hits_for_words_and_all_for_exact_patterns(shop: Home) -> None:
    assert len(out(shop, "deploy")) == 10
    assert len(out(shop, "-F", "deploy")) == 25
    assert len(out(shop, "-E", "deplo.")) == 25
    assert len(out(shop, "-v", "auth")) == 28


@pytest.mark.parametrize("option", ["-n", "-m", "--limit", "--max-count"])
def test_limit(shop: Home, option: str) -> None:
    assert [len(out(shop, option, n, "deploy")) for n in ("1", "12", "0")] == [1, 12, 25]
    assert len(out(shop, option, "3", "-F", "deploy")) == 3
    assert out(shop, option, "3", "deploy") == out(shop, "deploy")[:3]


def test_per_session(shop: Home) -> None:
    lines = out(shop, "--per-session", "1", "-n", "0", "-e", "auth", "-e", "deploy")
    assert sorted(line.split(":")[0] for line in lines) == ["aaaaaaaa", "bbbbbbbb", "cccccccc"]
    assert len(out(shop, "--per-session", "4", "deploy")) == 4
    assert len(out(shop, "--per-session", "4", "-F", "deploy")) == 4


# Output formats


def test_l_prints_each_session_once_best_first(shop: Home) -> None:
    assert out(shop, "-l", "deploy") == ["cccccccc"]
    best = [line.split(":")[0] for line in out(shop, "auth")]
    assert out(shop, "-l", "auth") == list(dict.fromkeys(best))
    assert len(out(shop, "-l", "-n", "1", "auth")) == 1
    for name in ("--files-with-matches", "--sessions-with-matches"):
        assert out(shop, name, "auth") == out(shop, "-l", "auth")


def test_capital_l_prints_sessions_without_a_hit(shop: Home) -> None:
    assert out(shop, "-L", "auth") == ["cccccccc"]
    assert sorted(out(shop, "-L", "-F", "deploy")) == ["aaaaaaaa", "bbbbbbbb"]
    assert out(shop, "-L", "-n", "1", "deploy") == ["aaaaaaaa"]
    assert len(out(shop, "-L", "kangaroo")) == 3
    done = shop.run("-L", "-F", "e")
    assert (done.returncode, done.stdout) == (1, "")


def test_c_counts_the_hits_of_each_session(shop: Home) -> None:
    assert sorted(out(shop, "-c", "auth")) == ["aaaaaaaa:2", "bbbbbbbb:1"]
    assert out(shop, "-c", "-F", "deploy") == ["cccccccc:25"]
    assert sorted(out(shop, "-c", "-v", "auth")) == ["aaaaaaaa:2", "bbbbbbbb:1", "cccccccc:25"]
    assert shop.run("-c", "kangaroo").returncode == 1


@pytest.mark.parametrize("option", ["-q", "--quiet", "--silent"])
def test_q_prints_nothing_and_sets_the_exit_status(shop: Home, option: str) -> None:
    for arguments in (["auth"], ["-F", "auth"], ["auth bug kangaroo"], ["-l", "auth"]):
        done = shop.run(option, *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), arguments
    assert shop.run(option, "kangaroo").returncode == 1
    assert shop.run(option, "").returncode == 2


def test_q_with_capital_l_reports_sessions_without_a_hit(shop: Home) -> None:
    assert shop.run("-q", "-L", "auth").returncode == 0
    assert shop.run("-q", "-L", "-F", "e").returncode == 1  # every session has one
    assert shop.run("-q", "-L", "-e", "auth", "-e", "deploy").returncode == 1


def test_o_prints_each_match_once(shop: Home) -> None:
    found = out(shop, "-o", "auth")
    assert [line.rpartition(":")[2] for line in found] == ["auth"] * 4
    assert sorted(ids(found)) == ["aaaaaaaa:0", "aaaaaaaa:0", "aaaaaaaa:2", "bbbbbbbb:0"]
    assert bare(out(shop, "-oE", "auth[^.]* is [a-z]+")) == ["aaaaaaaa:0:auth: is fixed"]
    assert bare(out(shop, "-oE", "^検.")) == ["bbbbbbbb:1:検索"]


def test_o_prints_no_title(home: Home) -> None:
    file = home.claude()
    file.turn("needle", "found")  # which becomes the title too
    file.write()
    (line,) = out(home, "-o", "needle")
    assert line.endswith(":needle")


def test_v_prints_the_turns_that_do_not_match(shop: Home) -> None:
    assert sorted(ids(out(shop, "-v", "-E", "auth|deploy"))) == [
        "aaaaaaaa:1",
        "aaaaaaaa:3",
        "bbbbbbbb:1",
    ]
    assert shop.run("-v", "-E", ".").returncode == 1


def test_null_option_ends_each_record_with_nul(shop: Home) -> None:
    assert shop.run("-0", "auth").stdout == "".join(f"{line}\0" for line in out(shop, "auth"))
    assert shop.run("--null", "-l", "deploy").stdout == "cccccccc\0"
    assert shop.run("-0", "-L", "auth").stdout == "cccccccc\0"
    assert shop.run("-0", "-c", "deploy").stdout == "cccccccc:25\0"


def test_context_lines_have_dashes_instead_of_colons(shop: Home) -> None:
    hit = "aaaaaaaa:2:auth again, please"
    before, after = "aaaaaaaa-1-thanks", "aaaaaaaa-3-last words"
    again = ("-F", "auth again")
    assert bare(out(shop, *again, "-C1")) == [before, hit, after]
    assert bare(out(shop, *again, "-B", "1")) == [before, hit]
    assert bare(out(shop, *again, "--after-context=1")) == [hit, after]
    assert bare(out(shop, *again, "-C", "1", "-A", "0")) == [before, hit]
    assert len(out(shop, *again, "-C9")) == 4


def test_context_groups_are_separated(shop: Home) -> None:
    lines = out(shop, "-C1", "-F", "auth", "--session", "aaaaaaaa")
    assert [re.split("[:-]", line)[1] if line != "--" else line for line in lines] == [
        "0", "1", "--", "2", "3",
    ]  # fmt: skip
    assert "--" not in out(shop, "-F", "auth")


def test_full_id(shop: Home) -> None:
    assert out(shop, "--full-id", "again") == ["aaaaaaaa-first:2:1.000:auth again, please"]
    assert out(shop, "--full-id", "-l", "deploy") == ["cccccccc-third"]
    assert out(shop, "--full-id", "-c", "deploy") == ["cccccccc-third:25"]
    assert out(shop, "--full-id", "-L", "auth") == ["cccccccc-third"]


@pytest.mark.parametrize("width", [200, 40, 7])
def test_width_limits_the_snippet(shop: Home, width: int) -> None:
    option = [] if width == 200 else [f"--width={width}"]
    for pattern in (["deploy"], ["検索"], ["-F", "west"], ["-v", "x"]):
        widths = [columns(line.split(":", 3)[3]) for line in out(shop, *option, *pattern)]
        assert max(widths) <= width
    assert max(columns(line.split(":", 3)[3]) for line in out(shop, *option, "deploy")) == width


@pytest.mark.parametrize("width", [200, 40, 25])
def test_snippet_shows_a_match_at_any_position(home: Home, width: int) -> None:
    file = home.claude()
    file.turn("so much. " * 500 + "the needle is here" + " and more." * 500, "ok")
    file.write()
    for arguments in (["needle"], ["-F", "needle"], ["-E", "ne+dle"]):
        (line,) = out(home, f"--width={width}", *arguments)
        assert "needle" in line
