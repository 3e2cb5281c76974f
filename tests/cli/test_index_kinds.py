"""Which kinds of text are indexed is a setting."""

from tests.helpers.homes import Home, assert_same_as_fresh

SAID_ALONE = {"CCGREP_INDEX_KINDS": "user,assistant"}


def filled(home: Home) -> None:
    file = home.claude()
    file.turn("please look", "It says walrus.", "grep pelican x", "a penguin")
    file.write()


def found(home: Home, *arguments: str, **options: dict[str, str]) -> bool:
    return home.run(*arguments, **options).returncode == 0


def test_a_kind_that_is_left_out_is_not_found_by_words_but_exactly(home: Home) -> None:
    filled(home)
    home.run("index", env=SAID_ALONE)
    assert found(home, "walrus")
    assert not found(home, "penguin")
    assert found(home, "-F", "penguin", "-t", "tool")


def test_a_change_takes_hold_with_the_next_index(home: Home) -> None:
    filled(home)
    home.run("index")
    assert found(home, "penguin")
    home.run("index", env=SAID_ALONE)
    assert not found(home, "penguin")
    home.run("index")
    assert found(home, "penguin")
    assert_same_as_fresh(home)
