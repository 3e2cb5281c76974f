"""A team's server gives the answers of a store that has the same turns."""

import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
import re2

from ccgrep.kinds import Mode
from ccgrep.search.index_opener import open_without_index
from ccgrep.search.request import Answer, Request
from ccgrep.search.searcher import Searcher, SearchOptions
from ccgrep.store.fsio import remove_tree
from ccgrep.team.push import TeamPush
from ccgrep.team.searcher import TeamSearcher
from ccgrep.team.server import Server
from tests.helpers import scale
from tests.helpers.homes import Home
from tests.helpers.search_corpus import WORDS, Corpus, make_corpus
from tests.helpers.team_server import cluster, debian_postgres, wheel_postgres

SERVERS = [wheel_postgres, *([debian_postgres, cluster] if scale.IS_LONG else [])]
MODES: tuple[Mode, ...] = ("words", "words", "words", "literal", "regex")
QUERIES = (
    *WORDS, "plum", "commit", "error", "import", "the", "how do i fix the retry of the parser",
    "def", "sha256", '"git commit"', "src/parser", "PR #12", "done", "0", "日本", "getusername",
)  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    corpus = make_corpus(Home(tmp_path_factory.mktemp("corpus") / "home"))
    remove_tree(str(corpus.home.store_dir / "text"))  # Tantivy counts versions that were replaced.
    assert corpus.home.run("x", "--no-refresh").returncode in (0, 1)
    return corpus


@pytest.fixture(scope="module", params=SERVERS)
def bob(request: pytest.FixtureRequest, corpus: Corpus) -> Iterator[Server]:
    """Return a connection to a server with the corpus, and turns that bob never sees."""
    team = request.param().make_team()
    server = team.grant("bob", "*")
    push(corpus.home, server)
    projects = team.projects()
    server.close()
    team.revoke("bob")
    server = team.grant("bob", *projects)
    other = Home(corpus.home.directory.parent / f"other-{request.param.__name__}")
    file = other.claude(77, cwd="/src/secret")
    for number in range(30):
        file.turn(f"{number} parser retry plum plum", "parser retry skill commit")
    file.write()
    other.index()
    push(other, team.grant("eve", "secret"))
    corpus.home.run("remote", "remove", "team")
    corpus.home.run("remote", "add", "team", server.url)
    yield server
    server.close()


def push(home: Home, server: Server, *patterns: str) -> None:
    TeamPush(home.store, server, "/nonexistent", lambda _: None).run(patterns or ("*",))


def summarize(answer: Answer) -> list[Any]:
    """Return an answer without the last digits of its scores: Tantivy computes with 32 bits."""
    hits = [
        (hit.place, hit.started, hit.kind, sorted(hit.also_in), hit.matches) for hit in answer.hits
    ]
    return [answer.tier, answer.total, answer.relaxed, answer.complete, hits]


def random_request(chance: random.Random) -> Request:
    patterns = [
        " ".join(chance.sample(QUERIES, chance.choice([1, 1, 2, 3])))
        for _ in range(chance.choice([1, 1, 1, 2]))
    ]
    mode: Mode = chance.choice(MODES)
    return Request(
        tuple(re2.escape(one) if mode == "regex" else one for one in patterns),
        mode=mode,
        types=chance.choice(
            [(), (), (), ("tool",), ("user",), ("assistant",), ("thinking", "tool")]
        ),
        limit=chance.choice([10, 10, 0, 3]),
        per_session=chance.choice([0, 0, 1]),
        needs_all_words=chance.random() < 0.2,
        ignore_case=chance.random() < 0.3,
        invert=mode != "words" and chance.random() < 0.1,
    )


def test_same_answers_as_a_store(corpus: Corpus, bob: Server) -> None:
    config = corpus.home.config
    store = Searcher(config, open_without_index(config.store_dir, "words"))
    chance = random.Random(28)
    different = []
    for _ in range(scale.of(40, 4000)):
        request = random_request(chance)
        expected = store.run(request)[0]
        found = TeamSearcher(config, bob, (), SearchOptions()).run(request)[0]
        ours, theirs = summarize(found), summarize(expected)
        if ours != theirs and not is_tie(expected, found):
            different.append((request, theirs, ours))
    assert different == []


def is_tie(one: Answer, other: Answer) -> bool:
    """Return whether two answers differ only in the order of hits with the same score."""
    if (one.tier, one.total, len(one.hits)) != (other.tier, other.total, len(other.hits)):
        return False
    pairs = list(zip(one.hits, other.hits, strict=True))
    return all(abs(a.score - b.score) < 2e-4 for a, b in pairs)


@pytest.mark.parametrize(
    "arguments",
    [
        ("parser", "retry", "-n", "5"),
        ("-F", "skill", "-n", "4", "-C", "1"),
        ("-E", "sk[i]ll", "-c"),
        ("-l", "parser", "-p", "shop"),
        ("-o", "-F", "plum", "-n", "3"),
        ("parser", "--tool", "bash", "--branch", "main", "-n", "0"),
        ("plum", "--source", "codex", "--per-session", "1"),
        ("plum", "--subagents", "only"),
        ("plum", "--max-sessions", "3", "--full-id"),
        ("plum", "-t", "tool", "--all"),
        ("-L", "plum", "--subagents", "exclude"),
        ("nothinglikethis",),
    ],
    ids=" ".join,
)
def test_command_prints_what_it_prints_for_a_store(
    corpus: Corpus, bob: Server, arguments: tuple[str, ...]
) -> None:
    if "--max-sessions" in arguments and "proxy" in bob.url:
        pytest.skip("several servers cannot find the most recent sessions")
    home = corpus.home
    ours = home.run(*arguments, "-R", "team")
    theirs = home.run(*arguments, "--no-refresh")
    assert (rounded(ours.stdout), ours.returncode) == (rounded(theirs.stdout), theirs.returncode)


def rounded(output: str) -> str:
    """Return record lines with scores of two digits: Tantivy computes with 32 bits."""
    return re.sub(r"(?m)^([^:\n]+:\d+:\d\.\d\d)\d:", r"\1:", output)
