"""The writer bounds the text that waits in Tantivy's queue by committing."""

from pathlib import Path

import pytest

from ccgrep.fulltext.document import Content, Fields, document_fields
from ccgrep.fulltext.reader import TextReader
from ccgrep.fulltext.writer import CHANGE, TextWriter, large_budget
from ccgrep.model import Entry, ObjectId, Session

WORDS = " ".join(f"word{number}" for number in range(2000))


def document(turn: int) -> Fields:
    content = Content([], [], WORDS, {}, [])
    entry = Entry(turn=ObjectId(bytes(32)), start=0, end=0)
    return document_fields(Session("session", "codex"), turn, entry, content)


@pytest.mark.parametrize("cores", [1, 8])
def test_writer_commits_when_much_text_is_waiting(tmp_path: Path, cores: int) -> None:
    budget = large_budget(cores)._replace(queue_chars=3 * len(WORDS))
    writer = TextWriter(str(tmp_path), budget)
    counts = []
    for turn in range(8):
        writer.put(document(turn))
        counts.append(TextReader(str(tmp_path)).document_count())
    assert counts == [0, 0, 3, 3, 3, 6, 6, 6]
    writer.commit()
    assert writer.reader().document_count() == 8


def test_replaced_document_is_visible_once_after_an_early_commit(tmp_path: Path) -> None:
    writer = TextWriter(str(tmp_path), CHANGE._replace(queue_chars=0))
    for _ in range(3):
        writer.put(document(1))
        assert TextReader(str(tmp_path)).document_count() == 1
    writer.commit()
    assert writer.reader().document_count() == 1
