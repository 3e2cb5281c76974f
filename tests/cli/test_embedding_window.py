"""What is embedded, what is pending, and what lies outside the window: `status` and searches."""

import json

import pytest

from ccgrep.semantic.configured_model import find_unverified_model, write_rate
from tests.helpers.homes import Home
from tests.helpers.terminal import run_on_terminal
from tests.helpers.transcripts import EPOCH_MS, iso

DAY_MS = 86_400_000
LOGIN = "Users cannot sign in with an umlaut in their password"
SINCE = iso(EPOCH_MS + 199 * DAY_MS)[:10]
QUERY = "log in fails for special characters"


@pytest.fixture
def old_and_new(home: Home) -> Home:
    """A session of 200 days ago and one of today, with two turns each."""
    home.embed = "auto"
    for seed, day in ((1, 0), (2, 200)):
        file = home.claude(seed)
        file.now_ms = EPOCH_MS + day * DAY_MS
        file.turn(f"{LOGIN} {seed}", "The form takes any text now.")
        file.turn(f"Thanks {seed}", f"Welcome {seed}")
        file.write()
    home.index()
    return home


def embedded_line(home: Home) -> str:
    lines = home.run("status").stdout.splitlines()
    return next(line for line in lines if line.startswith("Embedded"))


def test_turns_outside_the_window_are_mentioned(old_and_new: Home) -> None:
    home = old_and_new
    name = find_unverified_model(home.config).name
    home.run("index")
    older = "2 older turns not embedded: run `ccgrep index --embed-all`"
    assert embedded_line(home) == f"Embedded   4 texts of the last 90 days by {name}; {older}"
    note = (
        "ccgrep: 2 turns outside the embedding window (90 days) can be found by words only: "
        "run `ccgrep index --embed-all`\n"
    )
    for _ in range(2):  # The second search reads the number from a hint.
        done = home.run("--semantic", QUERY)
        assert (done.returncode, done.stderr) == (0, note)
    coverage = json.loads(home.run("--semantic", "--json", QUERY).stdout)["coverage"]
    assert coverage["outside_window"] == 2
    assert home.run("--semantic", QUERY, "--since", SINCE).stderr == ""
    missed = home.run("--semantic", "xqzv wvut kkjh").stderr
    assert missed == (
        "ccgrep: 0 of 4 turns match; 2 turns outside the embedding window, "
        "run `ccgrep index --embed-all`\n"
    )
    home.run("index", "--embed-all")
    assert home.run("--semantic", QUERY).stderr == ""
    assert embedded_line(home) == f"Embedded   4 texts of the last 90 days by {name}"


def test_status_tells_how_long_embedding_will_take(old_and_new: Home) -> None:
    home = old_and_new
    model = find_unverified_model(home.config)
    pending = f"Embedded   0 texts of the last 90 days by {model.name}; 4 pending"
    older = "2 older turns not embedded: run `ccgrep index --embed-all`"
    assert embedded_line(home) == f"{pending}: run `ccgrep index`; {older}"
    write_rate(home.config, model, 99, 1.0)  # too few to tell
    assert home.json("status")["embeddings"]["texts_per_second"] is None
    write_rate(home.config, model, 100, 50.0)
    left = "4 pending (about 2 s at 2/s): run `ccgrep index`"
    assert left in embedded_line(home)
    embeddings = home.json("status")["embeddings"]
    assert embeddings == {
        "model": model.name,
        "embedded": 0,
        "pending": 4,
        "window_days": 90,
        "outside_window": 2,
        "texts_per_second": 2.0,
        "seconds_left": 2.0,
        "problem": "",
    }


def test_status_without_embeddings_says_why(home: Home) -> None:
    home.index()
    assert embedded_line(home) == "Embedded   nothing: the setting embed is never"
    home.embed = "auto"
    done = home.run("status", env={"CCGREP_MODEL": "/nonexistent"})
    assert "Embedded   nothing: " in done.stdout


def test_first_semantic_search_embeds_the_best_turns_by_words(home: Home) -> None:
    """At any speed, 16 texts are embedded: those with words of the query, then the newest."""
    home.embed = "auto"
    file = home.claude(1, name="aaaaaaaa-first")
    file.turn(LOGIN, "The form takes any text now.")
    for number in range(30):
        file.turn(f"Rotate log {number}", f"Rotated {number}")
    file.write()
    done = home.run("--semantic", "umlaut in a password")
    assert done.returncode == 0
    assert done.stdout.startswith("aaaaaaaa:0:")


def test_search_for_a_near_miss_neither_embeds_nor_warns(old_and_new: Home) -> None:
    """A home with pending texts: without a refresh, no search embeds them."""
    done = old_and_new.run("--semantic", "--no-refresh", "--since", "2099-01-01", QUERY)
    assert done.stderr.splitlines() == [
        "ccgrep: 0 % of the texts are embedded: run `ccgrep index` for the rest",
        "ccgrep: no turn passes --since",
    ]


def test_embedding_during_a_search_shows_progress(home: Home) -> None:
    home.embed = "auto"
    file = home.claude(1)
    file.turn(LOGIN, "The form takes any text now.")
    file.write()
    home.index()
    setup = "from ccgrep.cli import progress; progress.shared_bar = lambda bar=progress.Bar(): bar"
    shown, code = run_on_terminal(home, "--semantic", QUERY, setup=setup)
    assert code == 0
    assert "2/2 texts embedded" in shown
