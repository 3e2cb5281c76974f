"""ccgrep and GNU grep print the same for the options that both have."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.helpers.homes import Home

GREP = shutil.which("grep")

LINES = (
    "fix the auth bug in auth.py",
    "Fix the AUTH bug, then the auth_token one",
    "authentication is not authorization",
    "foo bar baz",
    "foobar",
    "foo_bar",
    "barfoo foo",
    "foo-bar foo.bar foo/bar",
    "The answer is 42, not 420 or 1042",
    "192.168.0.1 answers, 10.0.0.254 does not",
    "a.b*c+d?e",
    "a+b equals (a+b)",
    "price: $5 [sale] {set} ^top",
    "back\\slash and pipe | here",
    "email me at sam@example.com, or at s.a.m+x@mail.example.org",
    "color and colour, gray and grey",
    "aaa aaaa aaaaa",
    "abab ababab",
    "ends with a dot.",
    "  two spaces before, none behind",
    "tab\there",
    "x",
    "xx yy",
    "CamelCaseWord and snake_case_word",
    "naïve café in Zürich",
    "Ärger im Büro, ärger dich nicht",
    "Ελληνικά και ΣΊΣΥΦΟΣ σίσυφος",
    "Привет, мир и МИР",
    "日本語の検索を直して",
    "検索 and 日本 apart",
    "emoji 🎉 party 🎉",
    "--no-verify was passed",
    "-x is an option",
    "see https://example.com/a?b=c&d=e#f",
    "'single' and \"double\" quotes",
    "TODO: nothing",
    "todo later; TODO now",
    "a-b a_b a b",
    "0x1F and 0b1 and 1e10",
    "const f = (x) => x * 2;",
)

PATTERNS: tuple[tuple[str, ...], ...] = (
    ("-F", "auth"),
    ("-F", "foo bar"),
    ("-F", "foo.bar"),
    ("-F", "a.b*c+d?e"),
    ("-F", "(a+b)"),
    ("-F", "[sale]"),
    ("-F", "$5"),
    ("-F", "^top"),
    ("-F", "back\\slash"),
    ("-F", "|"),
    ("-F", "."),
    ("-F", "x"),
    ("-F", "日本語"),
    ("-F", "検"),
    ("-F", "🎉"),
    ("-F", "no such text"),
    ("-F", "--", "--no-verify"),
    ("-F", "-e", "-x"),
    ("-F", "-e", "--no-verify"),
    ("-F", "-i", "AUTH"),
    ("-F", "-i", "todo"),
    ("-F", "-i", "ÄRGER"),
    ("-F", "-i", "мир"),
    ("-F", "-i", "σίσυφος"),
    ("-F", "-i", "camelcaseWORD"),
    ("-F", "-w", "foo"),
    ("-F", "-w", "auth"),
    ("-F", "-w", "42"),
    ("-F", "-w", "мир"),
    ("-F", "-w", "caf"),
    ("-F", "-w", "x"),
    ("-F", "-w", "foo.bar"),
    ("-F", "-w", "-e", "-x"),
    ("-F", "-w", "-i", "todo"),
    ("-F", "-e", "foobar", "-e", "colour"),
    ("-F", "-e", "x", "-e", "xx"),
    ("-F", "foobar\ncolour"),
    ("-F", "foobar\n"),
    ("-F", "-e", "foobar", "-e", ""),
    ("-E", "auth|token"),
    ("-E", "colou?r|gr[ae]y"),
    ("-E", "^foo"),
    ("-E", "foo$"),
    ("-E", "^x$"),
    ("-E", "^$"),
    ("-E", "^(foo|bar)+$"),
    ("-E", "foo.bar"),
    ("-E", "foo[-_./ ]bar"),
    ("-E", "[0-9]{3,}"),
    ("-E", "a{4}"),
    ("-E", "a{4,5}"),
    ("-E", "(ab){3}"),
    ("-E", "(ab)+"),
    ("-E", "[[:digit:]]+"),
    ("-E", "[[:upper:]][[:lower:]]+[[:upper:]]"),
    ("-E", "[[:punct:]]{2}"),
    ("-E", "^[^a-z]"),
    ("-E", "^ +"),
    ("-E", "\\$5"),
    ("-E", "\\(a\\+b\\)"),
    ("-E", "\\[sale\\]"),
    ("-E", "back\\\\slash"),
    ("-E", "\\.$"),
    ("-E", "[a-z.+]+@([a-z]+\\.)+(com|org)"),
    ("-E", "([0-9]{1,3}\\.){3}[0-9]{1,3}"),
    ("-E", "x*"),
    ("-E", "y*$"),
    ("-E", "(foo|)bar"),
    ("-E", "foo|"),
    ("-E", "a|ab|aba|abab"),
    ("-E", "日.語"),
    ("-E", "^..語"),
    ("-E", "[検直]"),
    ("-E", "caf.$"),
    ("-E", "caf[é] in"),
    ("-E", "🎉.*🎉"),
    ("-E", "foo\nbar$"),
    ("-E", "-i", "^todo"),
    ("-E", "-i", "[a-c]amel"),
    ("-E", "-i", "büro|мир"),
    ("-E", "-w", "foo|bar"),
    ("-E", "-w", "a+"),
    ("-E", "-w", "x*"),
    ("-E", "-w", "[0-9]+"),
    ("-E", "-w", "foo.*bar"),
    ("-E", "-w", "b.ro"),
    ("-E", "-e", "^foo", "-e", "grey$"),
    ("-E", "no such (text|line)"),
)

MATCHES: tuple[tuple[str, ...], ...] = (
    ("-F", "auth"),
    ("-F", "a"),
    ("-F", "aa"),
    ("-F", "foo"),
    ("-F", "🎉"),
    ("-F", "-i", "мир"),
    ("-F", "-w", "foo"),
    ("-F", "-w", "a"),
    ("-F", "-e", "foo", "-e", "foobar"),
    ("-F", "-e", "foobar", "-e", "foo"),
    ("-F", "foo\nbar"),
    ("-E", "a|ab|aba|abab"),
    ("-E", "a+"),
    ("-E", "x*"),
    ("-E", "-w", "x*"),
    ("-E", "-w", "foo|bar"),
    ("-E", "[0-9]+"),
    ("-E", "-w", "[0-9]+"),
    ("-E", "(foo)?(bar)?"),
    ("-E", "^[^ ]+"),
    ("-E", "[^ ]+$"),
    ("-E", "日.語|検索"),
    ("-E", "-i", "colou?r|todo"),
    ("-E", "[a-z.+]+@([a-z]+\\.)+(com|org)"),
)

BAD = ("(", "[a", "[b-a]", "[[:nonsense:]]", "a\\", "a{2,1}", "(a|b")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Return a home with one turn for each line, and the same lines in a text file."""
    home = Home(tmp_path_factory.mktemp("corpus") / "home")
    file = home.claude()
    for line in LINES:
        file.prompt(line)
    file.write()
    text_file(home).write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    home.index()
    assert home.prompts(file.id) == list(LINES)
    return home


def text_file(home: Home) -> Path:
    return home.directory / "lines.txt"


def grep(home: Home, *arguments: str) -> subprocess.CompletedProcess[str]:
    if GREP is None:
        pytest.skip("grep is not installed")
    return subprocess.run(
        [GREP, *arguments, str(text_file(home))],
        env={"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


def ccgrep(home: Home, *arguments: str) -> subprocess.CompletedProcess[str]:
    return home.run("-t", "user", "--no-refresh", *arguments)


def numbered(output: str, separator: str, field: int, first: int) -> list[tuple[int, str]]:
    """Return the number and the rest of each output line, sorted by number."""
    rows = [line.split(separator, field + 1) for line in output.splitlines()]
    return sorted(((int(row[field]) - first, row[-1]) for row in rows), key=lambda row: row[0])


def lines_of_grep(home: Home, *arguments: str) -> tuple[int, list[int]]:
    done = grep(home, "-n", *arguments)
    return done.returncode, [number for number, _ in numbered(done.stdout, ":", 0, 1)]


def lines_of_ccgrep(home: Home, *arguments: str) -> tuple[int, list[int]]:
    done = ccgrep(home, *arguments)
    return done.returncode, [number for number, _ in numbered(done.stdout, ":", 1, 0)]


@pytest.mark.parametrize("arguments", PATTERNS, ids=" ".join)
def test_same_lines_and_exit_code(corpus: Home, arguments: tuple[str, ...]) -> None:
    assert lines_of_ccgrep(corpus, *arguments) == lines_of_grep(corpus, *arguments)


@pytest.mark.parametrize("arguments", PATTERNS[::4], ids=" ".join)
def test_same_lines_without_an_index(corpus: Home, arguments: tuple[str, ...]) -> None:
    found = lines_of_ccgrep(corpus, "--no-index", *arguments)
    assert found == lines_of_grep(corpus, *arguments)


@pytest.mark.parametrize("arguments", PATTERNS[::3], ids=" ".join)
def test_same_lines_with_v(corpus: Home, arguments: tuple[str, ...]) -> None:
    assert lines_of_ccgrep(corpus, "-v", *arguments) == lines_of_grep(corpus, "-v", *arguments)


@pytest.mark.parametrize("arguments", MATCHES, ids=" ".join)
def test_same_matches_with_o(corpus: Home, arguments: tuple[str, ...]) -> None:
    theirs = numbered(grep(corpus, "-no", *arguments).stdout.replace("\t", " "), ":", 0, 1)
    records = numbered(ccgrep(corpus, "-o", *arguments).stdout, ":", 1, 0)
    ours = [(number, text.partition(":")[2]) for number, text in records]
    assert ours == theirs


@pytest.mark.parametrize("arguments", PATTERNS[1::5], ids=" ".join)
def test_same_count_with_c(corpus: Home, arguments: tuple[str, ...]) -> None:
    ours, theirs = ccgrep(corpus, "-c", *arguments), grep(corpus, "-c", *arguments)
    assert ours.returncode == theirs.returncode
    assert (ours.stdout.rpartition(":")[2] or "0\n") == theirs.stdout


@pytest.mark.parametrize("arguments", PATTERNS[2::6], ids=" ".join)
def test_same_exit_code_with_q(corpus: Home, arguments: tuple[str, ...]) -> None:
    ours, theirs = ccgrep(corpus, "-q", *arguments), grep(corpus, "-q", *arguments)
    assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout)


@pytest.mark.parametrize("number", ["1", "3", "100"])
def test_same_number_of_lines_with_m(corpus: Home, number: str) -> None:
    ours = ccgrep(corpus, "-m", number, "-F", "a").stdout
    theirs = grep(corpus, "-m", number, "-F", "a").stdout
    assert len(ours.splitlines()) == len(theirs.splitlines())


@pytest.mark.parametrize("pattern", BAD)
def test_bad_pattern_is_exit_2_and_silent_on_stdout(corpus: Home, pattern: str) -> None:
    for done in (ccgrep(corpus, "-E", pattern), grep(corpus, "-E", pattern)):
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr
    assert "RE2 rejects the pattern" in ccgrep(corpus, "-E", pattern).stderr


@pytest.mark.parametrize("options", ["-iF", "-wF", "-Fiw", "-Fc", "-oE", "-vF", "-iqF"])
def test_short_options_can_be_joined(corpus: Home, options: str) -> None:
    ours, theirs = ccgrep(corpus, options, "foo"), grep(corpus, options, "foo")
    assert ours.returncode == theirs.returncode == 0
    assert bool(ours.stdout) == bool(theirs.stdout)


@pytest.mark.parametrize("text", ["foo", "foo\n\nbar", "\nfoo"])
def test_empty_lines_match_as_in_grep(home: Home, text: str) -> None:
    """A final newline adds no empty line, and a missing answer is not an empty one."""
    file = home.claude()
    file.prompt("say it")
    file.answer(text)
    file.prompt("no answer")
    file.write()
    home.index()
    text_file(home).write_text(f"say it\n{text}\n", encoding="utf-8")
    theirs = grep(home, "-E", "^$").returncode
    done = home.run("-E", "^$")
    assert done.returncode == theirs, done.stdout


# Differences, as documented in docs/scripting.md


def test_extended_regular_expressions_have_re2_syntax(corpus: Home) -> None:
    assert lines_of_ccgrep(corpus, "-E", r"\b42\b")[1] == [8]
    assert lines_of_ccgrep(corpus, "-E", r"^\d+\.")[1] == [9]
    assert lines_of_ccgrep(corpus, "-E", "(?i)^todo")[1] == [35, 36]
    assert lines_of_ccgrep(corpus, "-E", r"\p{Cyrillic}{3}")[1] == [27]
    assert lines_of_ccgrep(corpus, "-E", "[[:upper:]]{5}|^\\wrger")[1] == []  # of ASCII alone
    assert lines_of_ccgrep(corpus, "-E", r"\<foo")[0] == 1  # a plain <
    assert lines_of_ccgrep(corpus, "-E", "a{,3}")[0] == 1  # literal


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=foo)", "*a", "a**", ")"])
def test_pattern_that_re2_rejects_is_exit_2(corpus: Home, pattern: str) -> None:
    done = ccgrep(corpus, "-E", pattern)
    assert (done.returncode, done.stdout) == (2, "")
    assert "RE2 rejects the pattern" in done.stderr


def test_empty_pattern_alone_is_exit_2(corpus: Home) -> None:
    assert grep(corpus, "-F", "").returncode == 0
    for options in ([], ["-F"], ["-E"], ["-F", "-e"]):
        done = ccgrep(corpus, *options, "")
        assert (done.returncode, done.stdout) == (2, "")
        assert "Query required" in done.stderr
