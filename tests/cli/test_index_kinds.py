"""The setting `index_kinds` selects the kinds of text that are indexed."""

from tests.helpers.homes import Home, assert_same_as_fresh

ONLY_DISCUSSION = {"CCGREP_INDEX_KINDS": "user,assistant"}


def write_session(home: Home) -> None:
    file = home.claude()
    file.turn("please look", "It says walrus.", "grep pelican x", "a penguin")
    file.write()


def matches(home: Home, *arguments: str, **options: dict[str, str]) -> bool:
    return home.run(*arguments, **options).returncode == 0


def test_kind_that_is_not_indexed_matches_only_exact_patterns(home: Home) -> None:
    write_session(home)
    home.run("index", env=ONLY_DISCUSSION)
    assert matches(home, "walrus")
    assert not matches(home, "penguin")
    assert matches(home, "-F", "penguin", "-t", "tool")


def test_changed_index_kinds_apply_after_the_next_index(home: Home) -> None:
    write_session(home)
    home.run("index")
    assert matches(home, "penguin")
    home.run("index", env=ONLY_DISCUSSION)
    assert not matches(home, "penguin")
    home.run("index")
    assert matches(home, "penguin")
    assert_same_as_fresh(home)
