"""By meaning, a team's server gives the answers of a store that has the same turns and vectors."""

import random
from collections.abc import Iterator

import pytest

from ccgrep.kinds import Mode
from ccgrep.search.index_opener import open_without_index
from ccgrep.search.request import Answer, Request
from ccgrep.search.searcher import Searcher, SearchOptions
from ccgrep.semantic.stored_vectors import StoredVectors
from ccgrep.team.push import TeamPush
from ccgrep.team.searcher import TeamSearcher
from ccgrep.team.server import Server
from tests.helpers import scale
from tests.helpers.homes import Home
from tests.helpers.team_server import ShardedTeam, Team, cluster, debian_postgres, wheel_postgres

SERVERS = [wheel_postgres, *([debian_postgres, cluster] if scale.IS_LONG else [])]
SUBJECTS = (
    "water the plants in the garden", "bake bread with rye flour", "fix the flaky login test",
    "the database is locked", "translate the page into German", "deploy to the staging server",
    "rename a function everywhere", "why is the chart empty on phones", "pack for the mountains",
)  # fmt: skip
DETAILS = ("at dawn", "twice", "for the parser", "after the release", "PR #12", "on ticket 4711")
QUERIES = (
    *SUBJECTS, "irrigation of flowers", "authentication fails now and then", "sourdough", "#12",
    "nothing here is like zorblax", "how do I make a loaf", "parser release", "4711",
)  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("meaning") / "home")
    home.embed = "auto"
    chance = random.Random(5)
    for seed in range(12):
        file = home.claude(seed + 1, cwd=f"/src/{'shop' if seed % 2 else 'tools'}")
        for number in range(chance.randint(1, 6)):
            subject, answer = chance.choices(SUBJECTS, k=2)
            # No text occurs twice: several servers would count it twice.
            place = f"in room {10 * seed + number}"
            prompt = f"{subject} {chance.choice(DETAILS)} {place}"
            file.turn(prompt, f"{answer}, {chance.choice(DETAILS)} {place}.")
        file.write()
    home.rest()
    home.index()
    assert home.run("--semantic", "garden").returncode == 0
    return home


@pytest.fixture(scope="module", params=SERVERS)
def team(request: pytest.FixtureRequest, home: Home) -> Team:
    team: Team = request.param().make_team()
    if not has_vectors(team):
        pytest.skip("the server has no pgvector")
    push(home, team.grant("bob", "*"))
    home.run("remote", "remove", "team")
    home.run("remote", "add", "team", team.url("bob"), "-p", "*")
    return team


@pytest.fixture(scope="module")
def bob(team: Team) -> Iterator[Server]:
    server = team.connect("bob")
    yield server
    server.close()


def has_vectors(team: Team) -> bool:
    query = "select to_regclass('cc.passage') is not null"
    return all(one.admin.query(query) == [[b"t"]] for one in with_turns(team))


def with_turns(team: Team) -> list[Team]:
    """Return the servers that store the turns."""
    return list(team.shards) if isinstance(team, ShardedTeam) else [team]


def push(home: Home, server: Server) -> None:
    TeamPush(home.store, server, "/nonexistent", lambda _: None).run(("*",))


def count(team: Team) -> int:
    query = "select count(*) from cc.passage"
    return sum(int(one.admin.query(query)[0][0]) for one in with_turns(team))


def random_request(chance: random.Random) -> Request:
    modes: tuple[Mode, ...] = ("semantic", "hybrid")
    return Request(
        tuple(chance.sample(QUERIES, chance.choice([1, 1, 1, 2]))),
        mode=chance.choice(modes),
        limit=chance.choice([10, 10, 0, 3]),
        per_session=chance.choice([0, 0, 1]),
        types=chance.choice([(), (), (), ("user",), ("assistant",)]),
        surfaces=chance.choice([(), (), ("prompt", "answer"), ("title", "prompt", "full")]),
        alpha=chance.choice([None, None, 0.3]),
    )


def summarize(answer: Answer) -> list[object]:
    hits = [(hit.place, hit.kind, sorted(hit.also_in), hit.passage) for hit in answer.hits]
    return [answer.tier, answer.total, hits]


def is_tie(one: Answer, other: Answer) -> bool:
    if (one.tier, one.total, len(one.hits)) != (other.tier, other.total, len(other.hits)):
        return False
    pairs = zip(one.hits, other.hits, strict=True)
    return all(abs(a.score - b.score) < 2e-4 for a, b in pairs)


def test_same_answers_as_a_store(home: Home, bob: Server) -> None:
    config = home.config
    store = Searcher(config, open_without_index(config.store_dir, "words"))
    chance = random.Random(28)
    different = []
    for _ in range(scale.of(20, 1000)):
        request = random_request(chance)
        expected = store.run(request)[0]
        found = TeamSearcher(config, bob, (), SearchOptions()).run(request)[0]
        if summarize(found) != summarize(expected) and not is_tie(expected, found):
            different.append((request, summarize(expected), summarize(found)))
    assert different == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("--semantic", "irrigation of flowers", "-n", "3"),
        ("--hybrid", "login", "ticket", "-p", "shop"),
        ("--hybrid", "4711", "--sort", "oldest", "-n", "4"),
        ("--semantic", "nothing here is like zorblax"),
    ],
    ids=" ".join,
)
def test_command_prints_what_it_prints_for_a_store(
    team: Team, home: Home, arguments: tuple[str, ...]
) -> None:
    assert team.name
    ours, theirs = home.run(*arguments, "-R", "team"), home.run(*arguments, "--no-refresh")
    assert (ours.stdout, ours.returncode) == (theirs.stdout, theirs.returncode)


def test_several_places_are_merged(team: Team, home: Home) -> None:
    assert team.name
    both = home.run("--semantic", "sourdough", "-R", "local", "-R", "team", "--no-refresh")
    assert both.stdout == home.run("--semantic", "sourdough", "--no-refresh").stdout


def test_vectors_of_later_embeddings_follow_and_those_of_forgotten_turns_go(
    team: Team, home: Home
) -> None:
    fresh = wheel_postgres().make_team()
    server = fresh.grant("bob", "*")
    vectors = home.store_dir / "vectors"
    vectors.rename(home.store_dir / "aside")
    state = home.store_dir / "pushed"

    def save(data: bytes) -> None:
        state.write_bytes(data)

    TeamPush(home.store, server, str(state), save).run(("*",))
    assert count(fresh) == 0
    (home.store_dir / "aside").rename(vectors)
    TeamPush(home.store, server, str(state), save).run(("*",))
    assert count(fresh) == count(team)
    ids = [row[0].decode() for row in fresh.admin.query("select session from cc.session")]
    server.call("forget", {"sessions": ids})
    assert count(fresh) == 0


def test_redacted_text_has_no_vector(home: Home, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = Home(tmp_path_factory.mktemp("secret") / "home")
    other.embed = "auto"
    file = other.claude(1)
    file.turn("my password is hunter22: AKIAIOSFODNN7EXAMPLQ", "a harmless answer")
    file.write()
    other.rest()
    other.index()
    assert other.run("--semantic", "answer").returncode == 0
    assert len(StoredVectors(str(other.store_dir)).state.split()) == 1
    fresh = wheel_postgres().make_team()
    push(other, fresh.grant("bob", "*"))
    surfaces = fresh.admin.query("select distinct surface from cc.passage order by 1")
    assert [row[0] for row in surfaces] == [b"1", b"2"]


def test_member_of_another_project_sees_no_vectors(team: Team, home: Home) -> None:
    eve = team.grant("eve", "evil")
    answer = TeamSearcher(home.config, eve, (), SearchOptions()).run(
        Request(("water the plants",), mode="semantic")
    )[0]
    assert answer.hits == []


def test_server_without_pgvector_says_so(team: Team, home: Home) -> None:
    fresh = wheel_postgres().make_team()
    fresh.grant("bob", "*")
    fresh.admin.query("drop table cc.passage")
    home.run("remote", "add", "plain", fresh.url("bob"), "-p", "*")
    assert home.run("push", "plain", "--no-refresh").returncode == 0
    done = home.run("-R", "plain", "--semantic", "garden")
    home.run("remote", "remove", "plain")
    assert done.returncode == 2
    assert "the server has no pgvector 0.7 or later: search by words, -F or -E" in done.stderr
