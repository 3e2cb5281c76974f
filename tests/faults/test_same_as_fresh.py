"""`assert_same_as_fresh`, which ends every fault test, can fail."""

import pytest

from ccgrep.fulltext import generations
from ccgrep.fulltext.document_id import format_place
from ccgrep.fulltext.writer import CHANGE, TextWriter
from tests.faults.scenarios import append_turns, write_sessions
from tests.helpers.homes import QUERIES, WORD_QUERIES, Home, assert_same_as_fresh, read_content


def test_most_of_the_fifty_queries_find_something(home: Home) -> None:
    append_turns(write_sessions(home), 1)
    home.index()
    answers = read_content(home.config).answers
    assert (len(QUERIES), len(set(QUERIES)), len(answers)) == (50, 50, WORD_QUERIES)
    assert sum(map(bool, answers)) >= 40


def test_missing_document_fails_the_comparison(home: Home) -> None:
    files = write_sessions(home)
    home.index()
    assert_same_as_fresh(home, is_collected=True)
    found = generations.current(str(home.store_dir))
    assert found is not None
    writer = TextWriter(found.path, CHANGE)
    writer.delete(format_place(files[1].id, 2))
    writer.commit()
    with pytest.raises(AssertionError):
        assert_same_as_fresh(home)


def test_cached_fresh_store_is_not_used_for_changed_transcripts(home: Home) -> None:
    files = write_sessions(home)
    home.index()
    assert_same_as_fresh(home)
    append_turns(files, 1)
    with pytest.raises(AssertionError):
        assert_same_as_fresh(home)
    home.index()
    assert_same_as_fresh(home)
