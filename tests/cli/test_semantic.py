"""Semantic and hybrid search with the real model weights."""

import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.attacks import ATTACKS, acting
from tests.helpers.embedded_home import Done, run_many, vector_files_contain
from tests.helpers.homes import Home
from tests.helpers.imports import imported_modules
from tests.helpers.transcripts import Lines

HOUR_MS = 3_600_000
NOW_MS = time.time_ns() // 1_000_000

LOGIN = "The login page crashes whenever a customer types an emoji as their password"
LOGIN_QUERY = "sign-in form fails with special symbols"
MEMORY = "The worker keeps eating RAM until the kernel kills it"
MEMORY_QUERY = "process leaks memory and gets out-of-memory terminated"


def set_time(file: Lines, hours_ago: float) -> None:
    file.now_ms = NOW_MS - int(hours_ago * HOUR_MS)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Return a home with the same problem in sessions that differ in everything a filter tests.

    shop    40 days old; 0 login, 1 with Bash, 2 memory; its agent worked a minute later
    api     3 days old; another project, branch and model; 0 with Read
    codex   20 hours old; 0 with shell
    web     1 hour old; another project
    """
    home = Home(tmp_path_factory.mktemp("semantic") / "home")
    home.embed = "auto"
    shop = home.claude(1, name="shop1111-x")
    set_time(shop, 40 * 24)
    shop.turn(LOGIN, "The form takes any unicode text now and hashes the bytes.")
    shop.turn("Rotate the logs", "Done: logrotate runs every night.", "make", "fine")
    shop.turn(MEMORY, "A cache without a bound held every response; it is an LRU now.")
    agent = home.subagent(shop, "agent-a1111111")
    agent.now_ms = shop.now_ms + 60_000
    agent.turn("Find every place where memory use grows", "Three caches have no limit at all.")
    api = home.claude(2, slug="-home-sam-src-api", name="api22222-x", cwd="/home/sam/src/api")
    set_time(api, 3 * 24)
    api.prompt("The service uses more and more memory", gitBranch="feature/mem")
    api.result(
        api.call("Read", {"file_path": "a.py"}, model="claude-sonnet-5", gitBranch="feature/mem"),
        "cache = {}",
        gitBranch="feature/mem",
    )
    api.answer(
        "The memory leak was in the event listeners that were never removed.",
        model="claude-sonnet-5",
        gitBranch="feature/mem",
    )
    codex = home.codex(3, cwd="/home/sam/src/tools")
    set_time(codex, 20)
    codex.meta()
    codex.turn("Why is memory usage so high?", "The parser kept all files.", "free -m", "90 %")
    web = home.claude(4, slug="-home-sam-web", name="web44444-x", cwd="/home/sam/web/ui")
    set_time(web, 1)
    web.turn("The browser tab runs out of memory", "Images are released after use now.")
    for file in (shop, agent, api, codex, web):
        if isinstance(file, type(shop)):
            file.meta("custom-title", customTitle="-")
        file.write()
    home.rest()
    done = home.run("index")
    assert done.returncode == 0 and "texts embedded" in done.stderr, done.stderr
    return home


NAMES = {"shop1111": "shop", "agent-a1": "agent", "api22222": "api", "web44444": "web"}


def named(done: Done) -> list[str]:
    """Return the matching turns, sorted."""
    assert (done.code, bool(done.err)) == (0 if done.out else 1, not done.out)
    rows = [place.split(":") for place in done.places]
    return sorted(f"{NAMES.get(row[0], 'codex')}:{row[1]}" for row in rows)


# Matches


def words_of(text: str) -> set[str]:
    return {word.rstrip("s") for word in re.findall(r"\w+", text.lower())}


@pytest.mark.parametrize("mode", ["--semantic", "--hybrid"])
def test_paraphrase_without_a_common_word_is_found(shop: Home, mode: str) -> None:
    query = "authentication screen broken by special symbols"
    assert words_of(query) & words_of(LOGIN) == set()
    done = shop.run(mode, query)
    assert (done.returncode, done.stderr) == (0, "")
    first = done.stdout.splitlines()[0]
    assert re.fullmatch(rf"shop1111:0:0\.\d\d\d:{re.escape(LOGIN)}", first)
    assert shop.run("--words", *query.split()).returncode == 1


def test_exit_codes(shop: Home) -> None:
    found, none, quiet, quiet_none = run_many(
        shop,
        [
            ["--semantic", MEMORY_QUERY],
            ["--semantic", "medieval harpsichord tuning"],
            ["-q", "--semantic", MEMORY_QUERY],
            ["-q", "--semantic", "medieval harpsichord tuning"],
        ],
    )
    assert (found.code, found.err) == (0, "")
    assert none == Done(1, "", "ccgrep: 0 of 7 turns match\n")
    assert quiet == Done(0, "", "")
    assert quiet_none == Done(1, "", "")


INVALID: tuple[tuple[str, str], ...] = (
    ("--semantic --hybrid x", "cannot be combined"),
    ("--semantic -F x", "cannot be combined"),
    ("--hybrid -E x", "cannot be combined"),
    ("--semantic -o x", "cannot be combined"),
    ("--semantic -v x", "cannot be combined"),
    ("--hybrid --alpha 1.5 x", "for --alpha: use a number from 0 to 1"),
    ("--hybrid --alpha=-0.1 x", "for --alpha: use a number from 0 to 1"),
    ("--hybrid --alpha nan x", "for --alpha: use a number from 0 to 1"),
    ("--hybrid --alpha inf x", "for --alpha: use a number from 0 to 1"),
    ("--hybrid --alpha much x", "for --alpha: use a number from 0 to 1"),
    ("--semantic --surface toes x", "toes"),
    ("--semantic -t tool x", "only the discussion is embedded"),
    ("--hybrid -t thinking x", "only the discussion is embedded"),
    ("--semantic --no-index x", "--no-index"),
    ("--semantic", "Query required"),
    ("--semantic --project nonesuch x", "no sessions found for project 'nonesuch'"),
)


def test_invalid_semantic_query_is_a_usage_error(shop: Home) -> None:
    runs = run_many(shop, [command.split() for command, _ in INVALID])
    for (command, message), done in zip(INVALID, runs, strict=True):
        assert (done.code, done.out) == (1 if "nonesuch" in command else 2, ""), (command, done)
        assert message in done.err, (command, done.err)
        assert "Traceback" not in done.err


EVERY = ["agent:0", "api:0", "codex:0", "shop:2", "web:0"]
CASES: tuple[tuple[str, list[str]], ...] = (
    ("", EVERY),
    ("-p src/shop", ["agent:0", "shop:2"]),
    ("-p SRC/API", ["api:0"]),
    ("-s 2h", ["web:0"]),
    ("-s 1w --until 2d", ["api:0"]),
    ("--until 2h", ["agent:0", "api:0", "codex:0", "shop:2"]),
    ("--since 1m", []),
    ("--source codex", ["codex:0"]),
    ("--source claude-code", ["agent:0", "api:0", "shop:2", "web:0"]),
    ("--session api22222", ["api:0"]),
    ("--session shop1111:2:0.500:whatever", ["shop:2"]),
    ("--session web --session api", ["api:0", "web:0"]),
    ("--tool read", ["api:0"]),
    ("--tool any", ["api:0", "codex:0"]),
    ("--tool Nonesuch", []),
    ("--branch feature/mem", ["api:0"]),
    ("--model-name sonnet", ["api:0"]),
    ("--subagents only", ["agent:0"]),
    ("--subagents exclude", ["api:0", "codex:0", "shop:2", "web:0"]),
    ("--max-sessions 1", ["web:0"]),
    ("--max-sessions 2", ["codex:0", "web:0"]),
    ("--per-session 1", EVERY),
    ("-t user", EVERY),
    ("-p tools -t assistant", []),
)


@pytest.mark.parametrize("mode", ["--semantic", "--hybrid"])
def test_filters(shop: Home, mode: str) -> None:
    commands = [["-n", "0", mode, *options.split(), MEMORY_QUERY] for options, _ in CASES]
    for (options, expected), done in zip(CASES, run_many(shop, commands), strict=True):
        assert named(done) == expected, options


def test_types_and_surfaces_select_what_is_compared(shop: Home) -> None:
    prompt, answer = "emoji breaks signing in", "form accepts unicode and hashes it as bytes"
    cases: list[tuple[str, str, str]] = [
        ("-t user", prompt, LOGIN),
        ("-t assistant", answer, "The form takes any unicode text now and hashes the bytes."),
        ("--surface prompt", prompt, LOGIN),
        ("--surface answer", answer, "The form takes any unicode text now and hashes the bytes."),
        ("--surface full", answer, "The form takes any unicode text now and hashes the bytes."),
    ]
    commands = [["--semantic", "-n", "1", *opts.split(), query] for opts, query, _ in cases]
    for (options, _, text), done in zip(cases, run_many(shop, commands), strict=True):
        snippet = done.out.split(":", 3)[3].removeprefix("…").strip()
        assert len(snippet) > 40 and text.endswith(snippet), (options, done)


def test_hybrid_with_a_type_matches_words_in_that_text_only(shop: Home) -> None:
    """`logrotate` occurs only in an answer."""
    user, agent = run_many(
        shop, [["--hybrid", "-t", kind, "logrotate"] for kind in ("user", "assistant")]
    )
    assert agent.places == ["shop1111:1"]
    assert "every night" not in user.out


def test_alpha_1_ranks_by_meaning_and_0_by_words(shop: Home) -> None:
    query = "memory usage high"
    meaning, semantic, words = run_many(
        shop,
        [
            ["--hybrid", "--alpha", "1", "--full-id", query],
            ["--semantic", "--full-id", query],
            ["--hybrid", "--alpha", "0", "--full-id", query],
        ],
    )
    assert meaning == semantic
    assert words.scores[0] > 0.9


# Output


def test_json(shop: Home) -> None:
    answer: dict[str, Any] = shop.json("--semantic", LOGIN_QUERY)
    assert answer["tier"] == "semantic"
    coverage = answer["coverage"]
    assert coverage["embedded"] == coverage["to_embed"] > 10
    first = answer["results"][0]
    assert (first["session_id"], first["turn"]) == ("shop1111-x", 0)
    assert set(first["parts"]) == {"meaning", "words", "exact", "recency"}
    assert first["parts"]["words"] == 0.0
    assert first["messages"][0]["content"] == LOGIN
    hybrid = shop.json("--hybrid", "login page")
    assert hybrid["tier"] == "hybrid"
    assert hybrid["results"][0]["parts"]["words"] == 1.0
    lines = shop.run("--semantic", "--jsonl", LOGIN_QUERY).stdout.splitlines()
    common = {key: answer[key] for key in ("schema", "query", "tier")}
    assert [json.loads(line) for line in lines] == [{**common, **r} for r in answer["results"]]


def test_scripting_page_names_every_field(shop: Home) -> None:
    document = (Path(__file__).parents[2] / "docs" / "scripting.md").read_text(encoding="utf-8")
    answer = shop.json("--hybrid", "login page")
    fields = {*answer["coverage"], *answer["results"][0], *answer["results"][0]["parts"]}
    assert {name for name in fields if f"`{name}`" not in document} == set()


def test_explanation_goes_to_stderr(shop: Home) -> None:
    plain, explained = run_many(
        shop, [["--semantic", MEMORY_QUERY], ["--semantic", "--explain", MEMORY_QUERY]]
    )
    assert explained.out == plain.out
    lines = explained.err.splitlines()
    assert len(lines) == len(plain.out.splitlines())
    part = r"\d\.\d{3}"
    for line, place, score in zip(lines, plain.places, plain.scores, strict=True):
        parts = "".join(f"  {name} {part}" for name in ("meaning", "words", "exact", "recency"))
        shape = rf"ccgrep: {place}  score {score:.3f}{parts}"
        assert re.fullmatch(shape, line), line


def test_session_lists_and_counts(shop: Home) -> None:
    ids, counts, without = run_many(
        shop,
        [["--semantic", option, "--full-id", MEMORY_QUERY] for option in ("-l", "-c", "-L")],
    )
    found = {line.partition(":")[0]: line.partition(":")[2] for line in counts.out.splitlines()}
    assert found == dict.fromkeys(ids.out.splitlines(), "1")
    assert without == Done(1, "", "")


# Ranking


def test_score_never_increases_and_is_deterministic(shop: Home) -> None:
    commands = [["-n", "0", mode, MEMORY_QUERY] for mode in ("--semantic", "--hybrid")] * 2
    semantic, hybrid, *again = run_many(shop, commands)
    assert [semantic, hybrid] == again
    for done in (semantic, hybrid):
        assert len(done.scores) >= 5
        assert done.scores == sorted(done.scores, reverse=True)
        assert all(0 <= score <= 1 for score in done.scores)


@pytest.fixture
def embedded(home: Home) -> Home:
    home.embed = "auto"
    return home


def test_sub_agent_ranks_below_its_session_and_machine_text_last(embedded: Home) -> None:
    home = embedded
    main = home.claude(1)
    main.turn("Something about stripes, perhaps on African animals, or a flag", "I cannot say.")
    main.write()
    agent = home.subagent(main, "agent-a1b2c3d4", 2)
    agent.turn("Which animals have stripes?", "Zebras are African animals with stripes.")
    agent.write()
    worker = home.subagent(main, "agent-acompact-1a2b3c4d", 3)
    worker.turn("Your task is to create a detailed summary of it", "Animals that have stripes.")
    worker.write()
    home.index()
    ids = [f"{main.id}:0", f"{agent.id}:0", f"{worker.id}:0"]
    for mode in ("--semantic", "--hybrid"):
        (done,) = run_many(home, [[mode, "--full-id", "which animals have stripes"]])
        assert done.places == ids, mode
        assert done.scores == sorted(done.scores, reverse=True)


def test_turn_shared_by_two_sessions_is_one_hit(embedded: Home) -> None:
    home = embedded
    first = home.claude(1)
    first.turn(LOGIN, "The form takes any text now.")
    shared = len(first.records)
    first.turn("And the lion", "Done too.")
    first.write()
    fork = first.fork(first.path.parent, shared, seed=2)
    fork.now_ms += HOUR_MS
    fork.turn("Water the plants", "Watered.")
    fork.write()
    home.index()
    answer = home.json("--semantic", LOGIN_QUERY)
    (hit,) = answer["results"]
    places = {hit["session_id"], *(other["session_id"] for other in hit["also_in"])}
    assert (places, hit["turn"]) == ({first.id, fork.id}, 0)
    (counted,) = run_many(home, [["-c", "--full-id", "--semantic", LOGIN_QUERY]])
    assert sorted(counted.out.split()) == sorted([f"{first.id}:1", f"{fork.id}:1"])


# No matches

TOPICS = (
    ("Migrate the orders table to a partitioned layout", "Partitioned by month; queries prune."),
    ("Why does the retry loop never stop?", "The backoff overflowed to a negative delay."),
    ("Write tests for the CSV importer", "Twelve cases, quotes and line breaks among them."),
    ("The Docker image is two gigabytes", "Multi-stage build: 180 MB without the compilers."),
    ("Rename UserDTO to Account everywhere", "Renamed in 41 files, the tests pass."),
    ("Explain how the scheduler picks a node", "By free memory first, then by zone."),
    ("Add dark mode to the settings page", "A toggle that follows the system's preference."),
    ("Upgrade Django to 5.1", "Two deprecated middlewares were replaced."),
    ("The websocket drops after a minute", "The proxy's idle timeout; we send pings now."),
    ("Set up linting in CI", "ruff and mypy run on each pull request."),
)
NONSENSE = (
    "flurble grommet snorfblatt",
    "xqzt vbnm plokij",
    "asdf qwer zxcv uiop",
    "medieval harpsichord tuning",
    "recipe for sourdough bread with rye",
    "penguins swimming around Antarctica",
    "who won the football championship in 1966",
    "watercolour painting of a sunset",
    "romantic poetry of the nineteenth century",
    "aquarium with goldfish",
    "colourless green ideas sleep furiously",
    "wibble",
    "9f8a7b6c5d4e",
    "%%% ??? !!!",
    "\U0001f984\U0001f984\U0001f984",
    "llanfairpwllgwyngyll",
)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Return a home with text on which no score floor was calibrated."""
    home = Home(tmp_path_factory.mktemp("office") / "home")
    home.embed = "auto"
    file = home.claude(1)
    for prompt, answer in TOPICS:
        file.turn(prompt, answer)
    file.write()
    home.rest()
    assert home.run("index", "-q").returncode == 0
    return home


@pytest.mark.parametrize("mode", ["--semantic", "--hybrid"])
def test_nonsense_matches_nothing(office: Home, mode: str) -> None:
    runs = run_many(office, [[mode, query] for query in NONSENSE])
    wrong = {
        q: done.out
        for q, done in zip(NONSENSE, runs, strict=True)
        if (done.code, done.out) != (1, "")
    }
    assert wrong == {}


@pytest.mark.parametrize("query", ["flurble page snorfblatt", "wibble tests", "xqzt vbnm memory"])
def test_hybrid_needs_a_match_in_words_or_meaning(office: Home, query: str) -> None:
    """One of the two or three words is in the text by chance."""
    words, semantic, hybrid = run_many(
        office, [[query], ["--semantic", query], ["--hybrid", query]]
    )
    assert words.code == 1
    assert hybrid.places == semantic.places


SENSE = (
    ("exponential wait between attempts went wrong", 1),
    ("container size reduction", 3),
    ("night theme for preferences", 6),
    ("connection closed when idle", 8),
)


def test_meaningful_query_matches_in_the_same_text(office: Home) -> None:
    runs = run_many(office, [["--semantic", "-n", "1", query] for query, _ in SENSE])
    for (query, turn), done in zip(SENSE, runs, strict=True):
        assert [place.split(":")[1] for place in done.places] == [str(turn)], query


# Deleted and changed text


def test_forget_deletes_vectors_from_the_files(embedded: Home) -> None:
    from ccgrep.fulltext.surfaces import text_key  # noqa: PLC0415

    home = embedded
    secret, other = home.claude(1), home.claude(2)
    secret.turn(LOGIN, "The form takes any text now.")
    other.turn(MEMORY, "A cache without a bound; it is an LRU now.")
    for file in (secret, other):
        file.write()
    assert home.run("index", "-q").returncode == 0
    assert home.run("--semantic", LOGIN_QUERY).returncode == 0
    assert vector_files_contain(home, text_key(LOGIN))
    assert home.run("forget", secret.id).returncode == 0
    assert not vector_files_contain(home, text_key(LOGIN))
    assert vector_files_contain(home, text_key(MEMORY))
    assert home.run("index", "-q").returncode == 0
    assert not vector_files_contain(home, text_key(LOGIN))
    gone, left = run_many(home, [["--semantic", LOGIN_QUERY], ["--semantic", MEMORY_QUERY]])
    assert gone == Done(1, "", "ccgrep: 0 of 1 turn matches\n")
    assert left.code == 0


def test_changed_turn_is_embedded_again(embedded: Home) -> None:
    home = embedded
    file = home.claude(1)
    file.meta("custom-title", customTitle="-")
    file.turn("Tell me", MEMORY)
    file.write()
    assert home.run("index", "-q").returncode == 0
    assert home.run("--semantic", MEMORY_QUERY).returncode == 0
    file.answer("Water the plants in the garden every evening.")
    file.append()
    before, now = run_many(
        home, [["--semantic", MEMORY_QUERY], ["--semantic", "gardening and watering flowers"]]
    )
    assert before == Done(1, "", "ccgrep: 0 of 1 turn matches\n")
    assert now.places == [f"{file.id[:8]}:0"]


def test_superseded_session_ranks_below_the_current_one(embedded: Home) -> None:
    home = embedded
    file = home.claude(1)
    file.turn("Water the plants", "Watered.")
    file.write()
    assert home.run("index", "-q").returncode == 0
    other = home.claude(1)
    other.turn("Prune the roses in the garden", "Pruned.")
    other.write()
    (done,) = run_many(home, [["--semantic", "--full-id", "gardening"]])
    assert done.places[0] == f"{other.id}:0"


def test_text_without_tokens_is_embedded_only_once(embedded: Home) -> None:
    """Text that the model tokenizes to nothing counts as embedded."""
    home = embedded
    file = home.claude(1)
    file.turn("\u200b\u200b", "\u200b")
    file.turn(MEMORY, "\ufe0f")
    file.write()
    assert home.run("index").returncode == 0
    assert "embedded" not in home.run("index").stderr
    answer = home.json("--semantic", MEMORY_QUERY)["coverage"]
    assert answer["embedded"] == answer["to_embed"]


# Embedding during a search


def test_search_embeds_new_turns(home: Home) -> None:
    file = home.claude(1)
    file.turn(LOGIN, "The form takes any text now.")
    file.write()
    home.index()
    assert home.run("--semantic", "--no-refresh", LOGIN_QUERY).returncode == 1
    done = home.run("--semantic", LOGIN_QUERY)
    assert (done.returncode, done.stderr) == (0, "")
    assert home.run("--semantic", "--no-refresh", LOGIN_QUERY).stdout == done.stdout


def test_search_warns_how_much_is_embedded(home: Home) -> None:
    file = home.claude(1)
    for number in range(20):
        file.turn(f"{LOGIN}, for the {number}th time", f"Fixed it again, {number}.")
    file.write()
    home.index()
    done = home.run("--semantic", "--no-refresh", "--json", LOGIN_QUERY)
    coverage = json.loads(done.stdout)["coverage"]
    assert (coverage["embedded"], coverage["to_embed"]) == (0, 41 - 1)
    assert done.stderr == (
        "ccgrep: 0 % of the texts are embedded: run `ccgrep index` for the rest\n"
        "ccgrep: 0 of 20 turns match\n"
    )


def test_semantic_search_works_on_a_read_only_store(embedded: Home) -> None:
    home = embedded
    file = home.claude(1)
    file.turn(LOGIN, "The form takes any text now.")
    file.write()
    home.rest()
    assert home.run("index", "-q").returncode == 0
    before = home.run("--semantic", LOGIN_QUERY).stdout
    paths = [home.store_dir, *home.store_dir.rglob("*")]
    modes = [(path, path.stat().st_mode) for path in paths]
    for path, mode in modes:
        path.chmod(mode & 0o555)
    try:
        done = home.run("--semantic", LOGIN_QUERY)
        assert (done.returncode, done.stdout) == (0, before), done.stderr
    finally:
        for path, mode in modes:
            path.chmod(mode)


# Hostile text


def test_hostile_text_is_inert_in_semantic_search(embedded: Home) -> None:
    home = embedded
    file = home.claude(1)
    attacks = [one.encode("utf-8", "replace").decode() for one in ATTACKS.values()]
    for attack in attacks:
        file.turn(f"{MEMORY} {attack}", f"{attack} the leak is closed")
    file.write()
    assert home.run("index", "-q").returncode == 0
    query = f"memory leak {ATTACKS['clear screen']}{ATTACKS['line feed forges a record']}"
    runs = run_many(
        home,
        [
            ["-n", "0", "--semantic", "--explain", query],
            ["-n", "0", "--hybrid", "--explain", query],
            ["-n", "0", "--semantic", "--json", query],
        ],
    )
    for done in runs:
        assert done.code == 0, done.err
        assert acting(done.out) == acting(done.err) == []
    for done in runs[:2]:
        assert len(done.places) > 50  # text of mostly control characters has little meaning
        assert {place.split(":")[0] for place in done.places} == {file.id[:8]}


# Libraries


@pytest.mark.parametrize("mode", ["--semantic", "--hybrid"])
def test_query_imports_no_model_runtime(shop: Home, mode: str) -> None:
    imported = imported_modules(shop, mode, MEMORY_QUERY)
    heavy = {"torch", "sentence_transformers", "transformers", "huggingface_hub", "onnxruntime"}
    assert "numpy" in imported
    assert imported & {*heavy, "usearch", "scipy", "asyncio"} == set()


def without(*names: str) -> str:
    return f"sys.modules.update(dict.fromkeys({names!r}))"


@pytest.mark.parametrize("missing", [("tokenizers",), ("sentence_transformers", "tokenizers")])
def test_without_the_extra_everything_else_works(home: Home, missing: Sequence[str]) -> None:
    home.embed = "auto"
    file = home.claude(1)
    file.turn(LOGIN, "The form takes any text now.")
    file.write()
    home.rest()
    commands = [
        ["index"],
        ["--semantic", "x"],
        ["--hybrid", "x"],
        ["index", "--embed-all"],
        ["login"],
        ["-F", "login"],
        ["gc"],
        ["fsck"],
        ["status"],
        ["list"],
    ]
    index, semantic, hybrid, embed, *rest = run_many(home, commands, without(*missing))
    assert index.code == 0 and "embed" not in index.err
    for done in (semantic, hybrid, embed):
        assert (done.code, done.out) == (2, "")
        *_, line = done.err.splitlines()
        assert "pip install 'ccgrep[semantic]'" in line and "Traceback" not in done.err
    for command, done in zip(commands[4:], rest, strict=True):
        assert done.code == 0, (command, done)


def test_vectors_are_maintained_without_the_extra(embedded: Home) -> None:
    """The extra was installed once: `forget` still deletes vectors."""
    from ccgrep.fulltext.surfaces import text_key  # noqa: PLC0415

    home = embedded
    for seed, text in ((1, LOGIN), (2, MEMORY)):
        file = home.claude(seed)
        file.turn(text, f"Fixed, {seed}.")
        file.write()
    assert home.run("index", "-q").returncode == 0
    commands = [["gc"], ["fsck"], ["fsck", "--repair"], ["forget", file.id], ["login"]]
    for command, done in zip(
        commands, run_many(home, commands, without("tokenizers")), strict=True
    ):
        assert done.code == 0, (command, done)
    assert not vector_files_contain(home, text_key(MEMORY))


# Which mode answers

QUESTION = "why does the process leak memory and get terminated"


def test_question_is_ranked_by_words_and_meaning_and_says_so(shop: Home) -> None:
    chosen, hybrid, words = run_many(
        shop, [[QUESTION], ["--hybrid", QUESTION], ["--words", QUESTION]]
    )
    assert chosen.out == hybrid.out != words.out
    assert chosen.err == "ccgrep: ranked by words and meaning; --words ranks by words alone\n"
    assert (hybrid.err, words.err) == ("", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["memory leak"],
        ["-l", QUESTION],
        ["-c", QUESTION],
        ["-n", "0", QUESTION],
        ["--all", QUESTION],
        ["-t", "user", QUESTION],
        ["why does parse_json leak memory and get terminated"],
        ['why does the process leak "more and more memory" today'],
    ],
    ids=" ".join,
)
def test_anything_else_is_ranked_by_words(shop: Home, arguments: list[str]) -> None:
    plain, words = run_many(shop, [arguments, ["--words", *arguments]])
    assert (plain.out, plain.err) == (words.out, words.err)


def test_agent_that_searches_gets_the_best_mode(shop: Home) -> None:
    agent = {"CODEX_THREAD_ID": "another"}
    chosen = shop.run("memory leak", env=agent)
    assert chosen.stdout == shop.run("--hybrid", "memory leak", env=agent).stdout
    assert chosen.stderr == "ccgrep: ranked by words and meaning; --words ranks by words alone\n"
    words = shop.run("--words", "memory leak", env=agent)
    assert words.stdout == shop.run("memory leak").stdout != chosen.stdout


@pytest.mark.parametrize(("mode", "tier"), [("words", "most"), ("semantic", "semantic")])
def test_setting_decides_which_mode_answers(shop: Home, mode: str, tier: str) -> None:
    done = shop.run(QUESTION, "--json", env={"CCGREP_MODE": mode})
    assert json.loads(done.stdout)["tier"] == tier


def test_words_answer_a_question_without_a_model(shop: Home) -> None:
    answer = shop.json(QUESTION, "--model", "/nonexistent-model")
    assert answer["tier"] == "most"


def test_turn_with_every_name_ranks_above_similar_turns(embedded: Home) -> None:
    home = embedded
    exact = home.claude(9)
    exact.turn("build it", "Done.", "make", "E4711 in leak_probe.c: out of memory")
    exact.write()
    similar = home.claude(5)
    similar.turn("the worker leaks memory in the probe", "It is bounded now.")
    similar.write()
    home.index()
    answer = home.json("--hybrid", "E4711 leak_probe.c worker leaks memory")
    first, second = answer["results"][:2]
    assert (first["session_id"], first["parts"]["exact"]) == (exact.id, 1.0)
    assert (second["session_id"], second["parts"]["exact"]) == (similar.id, 0.0)
    assert second["parts"]["meaning"] > first["parts"]["meaning"]


def test_hybrid_hit_that_only_a_tool_printed_shows_the_output(embedded: Home) -> None:
    home = embedded
    file = home.claude(9)
    file.turn("rotate the logs", "Done.", "make", "checking\nQuaggaError: no such stripe\nbye")
    file.write()
    searched = home.claude(5)
    searched.turn("look it up", "Nothing.", "ccgrep QuaggaError", "QuaggaError: no such stripe")
    searched.write()
    home.index()
    found = home.run("--hybrid", "QuaggaError", "--full-id").stdout.splitlines()
    assert sorted(line.split(":")[0] for line in found) == sorted([file.id, searched.id])
    assert all("QuaggaError: no such stripe" in line for line in found)
    agent = {"CODEX_THREAD_ID": "another"}
    done = home.run("--hybrid", "QuaggaError", "-l", "--full-id", env=agent)
    assert done.stdout.split() == [file.id]


# Models


def test_model_list_prints_the_measured_models(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    lines = home.run("model", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["name", "minilm", "arctic", "e5"]
    listed = home.json("model", "list")["models"]
    assert [model["name"] for model in listed] == [line.split()[-1] for line in lines[1:]]


def test_model_with_other_arguments_is_a_usage_error(tmp_path: Path) -> None:
    done = Home(tmp_path / "home").run("model", "list", "x")
    assert done.returncode == 2
    assert "use `ccgrep model`, `ccgrep model list` or `ccgrep model pull NAME`" in done.stderr


@pytest.mark.parametrize("mode", ["--semantic", "--hybrid"])
def test_unknown_hash_is_not_similar_to_other_hashes(home: Home, mode: str) -> None:
    home.embed = "auto"
    file = home.claude()
    file.turn("the build id is 4d1e6b7a90 qxzz", "noted: 4d1e6b7a90 qxzz kkvw 77ab01ff93")
    file.write()
    home.index()
    assert home.run(mode, "8f3a9c1e77 qqqq zzkxv", "--no-redact").returncode == 1
    assert home.run(mode, "what identifies the build").returncode == 0
