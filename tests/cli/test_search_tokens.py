"""Word search: identifiers, word forms, other scripts, and the tiers."""

import re

import pytest

from tests.helpers.homes import Home

TEXTS: dict[str, tuple[str, str, str]] = {
    # name: prompt, command, output
    "snake": ("why is refresh_auth_token slow", "", ""),
    "camel": ("rename parseJsonHeader please", "", ""),
    "pascal": ("HTTPServerError comes up again", "", ""),
    "dotted": ("set logging.handlers.rotation in the config", "", ""),
    "path": ("open packages/widgets/src/button.tsx", "", ""),
    "flag": ("git commit --no-verify was used", "", ""),
    "number": ("port 8443 is taken, error E1027 again", "", ""),
    "version": ("upgrade to v3.12.7 of the runtime", "", ""),
    "stem": ("the migrations were failing and retried", "", ""),
    "accent": ("le café de Zoë était fermé", "", ""),
    "japanese": ("日本語の検索を直して", "", ""),
    "chinese": ("修复导出时中文显示为方块", "", ""),
    "korean": ("한국어 검색이 안 됩니다", "", ""),
    "mixed": ("Redisのキャッシュが古い", "", ""),
    "phrase": ("the purple elephant sleeps", "", ""),
    "phrase-apart": ("the elephant is not purple", "", ""),
    "input-snake": ("do it one", "run drain_queue_worker now", ""),
    "input-camel": ("do it two", "node spawnChildProcess", ""),
    "input-path": ("do it three", "cat services/billing/invoice.go", ""),
    "input-flag": ("do it four", "cargo build --all-features", ""),
    "input-stem": ("do it five", "echo quarantined", ""),
    "input-number": ("do it twelve", "serve --port=9443 build7719", ""),
    "input-cjk": ("do it thirteen", "echo 画像処理", ""),
    "output-word": ("do it six", "make", "undefined reference to frobnicate"),
    "output-camel": ("do it seven", "make", "thrown in resolveModuleSpecifier"),
    "output-snake": ("do it eight", "make", "assertion kernel_page_fault"),
    "output-accent": ("do it nine", "make", "Dateigröße überschritten"),
    "output-cjk": ("do it ten", "make", "致命错误"),
    "tool-name": ("do it eleven", "", ""),
    "symbols": ("what does ()=>{} mean", "", ""),
    "command-word": ("build the index again", "", ""),
}

FOUND: tuple[tuple[str, str], ...] = (
    # Identifiers in any style, whole or in part
    ("refresh_auth_token", "snake"),
    ("REFRESH_AUTH_TOKEN", "snake"),
    ("auth_token", "snake"),
    ("refresh", "snake"),
    ("token", "snake"),
    ("parseJsonHeader", "camel"),
    ("parsejsonheader", "camel"),
    ("json", "camel"),
    ("header", "camel"),
    ("parse_json_header", "camel"),
    ("HTTPServerError", "pascal"),
    ("http", "pascal"),
    ("server", "pascal"),
    ("logging.handlers.rotation", "dotted"),
    ("handlers.rotation", "dotted"),
    ("handlers", "dotted"),
    ("packages/widgets/src/button.tsx", "path"),
    ("widgets/src", "path"),
    ("button.tsx", "path"),
    ("tsx", "path"),
    ("verify", "flag"),
    ("no-verify", "flag"),
    ("8443", "number"),
    ("E1027", "number"),
    ("1027", "number"),
    ("v3.12.7", "version"),
    ("3.12", "version"),
    # English word forms
    ("migration", "stem"),
    ("failed", "stem"),
    ("retry", "stem"),
    ("MIGRATIONS", "stem"),
    # Accents, typed or not
    ("cafe", "accent"),
    ("café", "accent"),
    ("cafe\u0301", "accent"),
    ("zoe", "accent"),
    ("FERMÉ", "accent"),
    # Chinese, Japanese and Korean: any run of characters
    ("検", "japanese"),
    ("検索", "japanese"),
    ("日本語", "japanese"),
    ("の検索を", "japanese"),
    ("日本語の検索を直して", "japanese"),
    ("中文", "chinese"),
    ("方块", "chinese"),
    ("导出时中文显示", "chinese"),
    ("검색", "korean"),
    ("검", "korean"),
    ("redis", "mixed"),
    ("キャッシュ", "mixed"),
    ("Redisのキャッシュ", "mixed"),
    # Tool input is tokenized like discussion
    ("drain_queue_worker", "input-snake"),
    ("queue", "input-snake"),
    ("spawnChildProcess", "input-camel"),
    ("spawn", "input-camel"),
    ("services/billing/invoice.go", "input-path"),
    ("billing", "input-path"),
    ("invoice.go", "input-path"),
    ("all-features", "input-flag"),
    ("quarantine", "input-stem"),
    ("9443", "input-number"),
    ("build7719", "input-number"),
    ("7719", "input-number"),
    ("画像", "input-cjk"),
    ("処", "input-cjk"),
    # Tool output: whole tokens
    ("frobnicate", "output-word"),
    ("FROBNICATE", "output-word"),
    ("resolveModuleSpecifier", "output-camel"),
    ("kernel_page_fault", "output-snake"),
    ("kernel", "output-snake"),
    ("Dateigröße", "output-accent"),
    ("überschritten", "output-accent"),
    ("致命错误", "output-cjk"),
    # Names of tools
    ("WebFetch", "tool-name"),
    ("webfetch", "tool-name"),
    # No word: literal match
    ("()=>{}", "symbols"),
    # Phrases
    ('"purple elephant"', "phrase"),
    ('"elephant is not"', "phrase-apart"),
    ('"purple elephant', "phrase"),
)

NOT_FOUND: tuple[str, ...] = (
    '"elephant purple"',
    '"token auth"',
    '"frobnicate reference"',
    "token_auth",
    "refreshed_token",
    "語本",
    "索検",
    "中方",
    "モジュール",
    "frobnic",
    "frobnicating",
    "Specifier",
    "nosuchwordanywhere",
    "(((())))",
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Return a home with one turn for each text."""
    home = Home(tmp_path_factory.mktemp("tokens") / "home")
    file = home.claude(1)
    file.meta("custom-title", customTitle="untitled")
    for name, (prompt, command, output) in TEXTS.items():
        file.prompt(prompt)
        if command:
            file.result(file.call("Bash", {"command": command}), output)
        if name == "tool-name":
            file.result(file.call("WebFetch", {"url": "x"}), "nothing")
        file.answer("Yes.")
    file.write()
    home.index()
    return home


def found(home: Home, *arguments: str) -> list[str]:
    """Return the names of the matching texts, the best first."""
    done = home.run("--no-refresh", *arguments)
    assert done.returncode == (0 if done.stdout else 1), done.stderr
    names = list(TEXTS)
    return [names[int(line.split(":")[1])] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(("query", "name"), FOUND, ids=[query for query, _ in FOUND])
def test_query_ranks_the_turn_first(corpus: Home, query: str, name: str) -> None:
    assert found(corpus, "--", query)[:1] == [name]


@pytest.mark.parametrize("query", NOT_FOUND)
def test_query_finds_nothing(corpus: Home, query: str) -> None:
    done = corpus.run("--no-refresh", "--", query)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"ccgrep: 0 of {len(TEXTS)} turns match")


def test_phrase_matches_only_adjacent_words(corpus: Home) -> None:
    assert found(corpus, '"purple elephant"') == ["phrase"]
    assert sorted(found(corpus, "purple elephant")) == ["phrase", "phrase-apart"]
    assert sorted(found(corpus, "elephant", "purple")) == ["phrase", "phrase-apart"]


def test_words_like_options_follow_two_dashes(corpus: Home) -> None:
    assert found(corpus, "--", "--no-verify") == ["flag"]
    assert found(corpus, "commit", "--", "--no-verify") == ["flag"]
    assert found(corpus, "-e", "--no-verify") == ["flag"]
    assert found(corpus, "--", "--all-features") == ["input-flag"]


@pytest.mark.parametrize("arguments", [("search", "index"), ("-e", "index"), ("--", "index")])
def test_command_word_can_be_searched_for(corpus: Home, arguments: tuple[str, ...]) -> None:
    done = corpus.run(*arguments)
    assert [line.split(":", 3)[3] for line in done.stdout.splitlines()] == ["build the index again"]


@pytest.mark.parametrize(
    "query",
    ["CLAUDE.md", "a:b", "field:value", "*", "?", "/re/", "[x", "(", '"', '"" ""', "AND", "a^2",
     "~x", "\\", "$HOME", "x" * 3000, "-", "--x=y", "{}", "%s", "'"],
)  # fmt: skip
def test_no_query_is_a_usage_error(corpus: Home, query: str) -> None:
    done = corpus.run("--no-refresh", "--", query)
    assert done.returncode in (0, 1), done.stderr
    assert bool(done.stderr) == done.returncode


def test_several_e_are_alternatives(corpus: Home) -> None:
    both = found(corpus, "-e", "frobnicate", "-e", "elephant purple")
    assert sorted(both) == ["output-word", "phrase", "phrase-apart"]


def test_further_words_join_the_pattern(corpus: Home) -> None:
    assert found(corpus, "-e", "purple", "sleeps") == ["phrase"]
    assert found(corpus, "purple", "-n", "5", "sleeps") == ["phrase"]


# Tiers


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Return a home with sessions to ask about in plain words."""
    home = Home(tmp_path_factory.mktemp("talk") / "home")
    turns = (
        ("The login test fails every third run", "It was flaky: the JWT clock skewed. Fixed."),
        ("Add a dark mode", "The colours are variables now."),
        ("The login page is slow", "The bundle was too large."),
        ("Write a test for the parser", "Added twelve cases."),
        ("What is the weather like", "I cannot know that."),
    )
    for seed, (prompt, answer) in enumerate(turns, 1):
        file = home.claude(seed)
        file.turn(prompt, answer)
        file.write()
    home.index()
    return home


def snippets(home: Home, *arguments: str) -> list[str]:
    return [line.split(":", 3)[3] for line in home.run(*arguments).stdout.splitlines()]


def test_question_finds_the_turn(talk: Home) -> None:
    done = talk.run("how did we fix the flaky login test")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].endswith(":0:1.000:The login test fails every third run")


def test_all_words_print_no_warning(talk: Home) -> None:
    done = talk.run("login", "flaky")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


def test_words_of_the_most_tier_are_named_on_stderr(talk: Home) -> None:
    done = talk.run("flaky login kangaroo")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].endswith("The login test fails every third run")
    note = done.stderr.splitlines()
    assert len(note) == 1
    assert re.search(r"no turn has all words.*: flaky login kangaroo$", note[0])


def test_stop_words_are_not_named(talk: Home) -> None:
    done = talk.run("how did the flaky login kangaroo")
    assert done.returncode == 0
    assert done.stderr.rstrip().endswith(": flaky login kangaroo")


def test_no_hit_is_exit_1(talk: Home) -> None:
    done = talk.run("kangaroo pouch marsupial")
    assert (done.returncode, done.stdout) == (1, "")


def test_tier_is_a_field_in_json(talk: Home) -> None:
    assert talk.json("login flaky")["tier"] == "all"
    assert talk.json("flaky login test kangaroo")["tier"] == "most"
    assert talk.json("-F", "flaky")["tier"] == "exact"


def test_snippet_shows_the_match(talk: Home) -> None:
    assert snippets(talk, "fixing", "flaky")[0].startswith("It was flaky")
    assert snippets(talk, "bundle")[0] == "The bundle was too large."


@pytest.mark.parametrize("option", ["--all", "--words"])
@pytest.mark.parametrize("other", ["-F", "-E", "-o", "-v", "--semantic", "--hybrid"])
def test_options_for_ranked_words_do_not_combine_with_others(
    talk: Home, option: str, other: str
) -> None:
    done = talk.run(option, other, "login")
    assert (done.returncode, done.stdout) == (2, "")
    assert option in done.stderr and other in done.stderr


def test_note_counts_the_hits_that_are_printed(home: Home) -> None:
    for seed, prompts in enumerate((["parser socket token"] * 3, ["parser socket"]), 1):
        file = home.claude(seed)
        for number, prompt in enumerate(prompts):
            file.turn(f"{prompt} {number}", "ok")
        file.write()
    home.index()
    done = home.run("--per-session", "1", "parser socket token")
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr.startswith("ccgrep: the first has all words, the others some of: parser ")
