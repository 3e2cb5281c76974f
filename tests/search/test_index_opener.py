"""A search opens the current full-text index, whatever other processes do meanwhile."""

import pytest

from ccgrep.fulltext import generations
from ccgrep.search.index_opener import open_index
from tests.helpers.homes import Home


def test_generation_that_is_being_deleted_is_not_an_empty_index(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home.claude()
    file.turn("zebra", "stripes")
    file.write()
    home.index()
    store_dir = str(home.store_dir)
    new = generations.current(store_dir)
    assert new is not None
    assert open_index(store_dir) is not None
    deleted = home.directory / "deleted"
    deleted.mkdir()  # Tantivy makes an index of an empty directory.
    monkeypatch.setattr(generations, "check", lambda _: None)  # Its files were there a moment ago.
    answers = [new._replace(path=str(deleted)), new]
    monkeypatch.setattr(generations, "current", lambda _: answers.pop(0))
    assert open_index(store_dir) is None
