"""The setting `exclude` keeps sessions from being ingested from any file."""

import json

import pytest

from ccgrep.errors import UsageError
from ccgrep.ingest.exclude import is_excluded
from ccgrep.ingest.report import IndexReport
from ccgrep.settings import read_settings
from tests.helpers.homes import Home, assert_same_as_fresh


@pytest.mark.parametrize(
    ("pattern", "is_match"),
    [
        ("~/work/client", True),
        ("~/work/client/", True),
        ("~/work", True),
        ("~/work/cli*", True),
        ("~/work/cli?nt", True),
        ("client", True),
        ("*/work/*", True),
        ("/home/sam/work/client/api", True),
        ("~/work/clie", False),
        ("clie", False),
        ("work/client", False),
        ("~/Work", False),
        ("/work", False),
    ],
)
def test_pattern_matches_a_directory_and_everything_below(pattern: str, is_match: bool) -> None:
    settings = read_settings({"CCGREP_EXCLUDE": pattern, "HOME": "/home/sam"})
    patterns = settings["exclude"].value
    assert isinstance(patterns, tuple)
    assert is_excluded("/home/sam/work/client/api", patterns) == is_match


def test_pattern_matches_name_in_other_unicode_form() -> None:
    composed, decomposed = "/home/sam/caf\u00e9", "/home/sam/cafe\u0301"
    assert is_excluded(f"{decomposed}/api", [composed])
    assert is_excluded(f"{composed}/api", [decomposed])


def test_setting_that_is_no_list_of_paths_is_rejected(home: Home) -> None:
    path = home.directory / ".config" / "ccgrep" / "config.toml"
    path.parent.mkdir(parents=True)
    for text in ("exclude = 'x'", "exclude = [1]", "exclude = ['']"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match="list of paths"):
            read_settings({"HOME": str(home.directory)})


class Shop(Home):
    """A home with a setting `exclude`."""

    exclude = "/home/sam/private*:*/-tmp-*"

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "CCGREP_EXCLUDE": self.exclude}


@pytest.fixture
def shop(home: Home) -> Shop:
    made = Shop(home.directory / "shop")
    for seed, slug, cwd in (
        (1, "-home-sam-src", "/home/sam/src"),
        (2, "-home-sam-private", "/home/sam/private-keys/api"),
        (3, "-tmp-x", "/home/sam/other"),
    ):
        file = made.claude(seed, slug=slug, cwd=cwd)
        file.turn(f"canary{seed}", "answer")
        file.write()
        agent = made.subagent(file, f"agent-a{seed}b2c3d", 50 + seed)
        agent.cwd = cwd
        agent.turn(f"agent of canary{seed}", "answer")
        agent.write()
    for seed, cwd in ((4, "/home/sam/api"), (5, "/home/sam/private")):
        rollout = made.codex(seed, cwd=cwd)
        rollout.meta()
        rollout.turn(f"canary{seed}", "answer")
        rollout.write()
        typed = {"session_id": rollout.id, "ts": 1_790_000_000, "text": f"canary{seed}"}
        with (made.codex_sessions.parent / "history.jsonl").open("a") as file_of_codex:
            file_of_codex.write(json.dumps(typed) + "\n")
    lost = {"display": "canary6", "timestamp": 1_790_000_000_000, "project": "/home/sam/private"}
    lost["sessionId"] = "0a1b2c3d-0000-4000-8000-000000000001"
    history = made.projects.parent / "history.jsonl"
    history.write_text(json.dumps(lost) + "\n", encoding="utf-8")
    return made


def found(home: Home) -> list[str]:
    prompts = {turn.prompt for id in home.rows() for turn in home.turns(id)}
    return sorted(prompts)


def test_excluded_sessions_are_not_ingested_from_any_file(shop: Shop) -> None:
    shop.index()
    assert found(shop) == ["agent of canary1", "canary1", "canary4"]
    shop.index(is_full=True)
    assert found(shop) == ["agent of canary1", "canary1", "canary4"]
    assert shop.run("-F", "canary6").returncode == 1
    assert shop.json("status")["behind"] == {"files": 0, "bytes": 0}
    assert_same_as_fresh(shop)


def test_without_the_setting_all_sessions_are_ingested(shop: Shop) -> None:
    shop.exclude = ""
    shop.index()
    assert len(found(shop)) == 9


def test_session_excluded_later_stays_but_does_not_grow(shop: Shop) -> None:
    shop.exclude = ""
    file = shop.claude(9, slug="-home-sam-private", cwd="/home/sam/private")
    file.turn("canary9", "answer")
    file.write()
    shop.index()
    shop.exclude = Shop.exclude
    file.turn("canary10", "answer")
    file.append()
    for ingest in (lambda: shop.run("canary10"), shop.index, lambda: shop.index(is_full=True)):
        ingest()
        assert shop.prompts(file.id) == ["canary9"]
        assert not shop.rows()[file.id].is_gone
    assert shop.json("status")["behind"]["files"] == 0
    shop.exclude = ""
    shop.index()
    assert shop.prompts(file.id) == ["canary9", "canary10"]
    assert_same_as_fresh(shop)


def test_search_ingests_a_session_that_is_no_longer_excluded(shop: Shop) -> None:
    shop.rest()
    shop.index()
    assert shop.run("canary2").returncode == 1
    shop.exclude = ""
    assert shop.run("canary2").returncode == 0


def test_index_stays_fresh_beside_excluded_transcripts(shop: Shop) -> None:
    shop.rest()
    shop.index()
    before = (shop.store_dir / "seen").read_bytes()
    report: IndexReport = shop.index()
    assert (report.files_parsed, report.bytes_parsed) == (0, 0)
    assert shop.run("canary1").stdout
    assert (shop.store_dir / "seen").read_bytes() == before
