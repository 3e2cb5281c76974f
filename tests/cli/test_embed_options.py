"""Options for models and semantic search, on a home without embeddings."""

import pytest

from tests.helpers.homes import Home


@pytest.fixture
def zoo(home: Home) -> Home:
    file = home.claude()
    file.turn("where is the zebra", "in the zoo")
    file.write()
    return home


def test_index_without_embedding_is_searchable(zoo: Home) -> None:
    assert zoo.run("index", "-q", "--no-embed").returncode == 0
    assert not (zoo.store_dir / "vectors").exists()
    done = zoo.run("zebra", "--explain")
    assert done.stdout == f"{zoo.claude().id[:8]}:0:1.000:where is the zebra\n"
    assert "score 1.000" in done.stderr


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("zebra --hybrid --alpha 2", "0 to 1"),
        ("zebra --semantic --model /nowhere/model", "/nowhere/model"),
        ("model --model /nowhere/model", "/nowhere/model"),
        ("index --embed-since soon", "invalid time 'soon'"),
    ],
)
def test_invalid_option_value_is_exit_2(zoo: Home, typed: str, message: str) -> None:
    zoo.index()
    done = zoo.run(*typed.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
