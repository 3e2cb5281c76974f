"""What waits for tantivy is bounded by its size: its threads can be seen at work, and asleep."""

from pathlib import Path

import pytest

from ccgrep.fulltext import writer as writer_module
from ccgrep.fulltext.document import Content, Document, Fields, fields_of
from ccgrep.fulltext.writer import NEW_LARGE, TextWriter

WORDS = " ".join(f"word{number}" for number in range(20_000))


def document(turn: int) -> Fields:
    content = Content([], [], WORDS, {"output": WORDS}, [])
    return fields_of(Document("session", turn, "0" * 64, "main", "", 0, "", {}, content))


def test_threads_are_at_work_until_they_have_caught_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = TextWriter(str(tmp_path), NEW_LARGE)
    writer._catch_up()  # They begin.
    seen = []
    for turn in range(40):
        writer.put(document(turn))
        seen.append(writer_module._is_at_work())
    assert any(seen)
    writer._catch_up()
    assert not writer_module._is_at_work()
    monkeypatch.setattr(writer_module, "_MOST_WAITING", 3 * len(WORDS))
    caught_up = []
    monkeypatch.setattr(writer_module, "_is_at_work", lambda: caught_up.append(True))
    for turn in range(40, 48):
        writer.put(document(turn))
    assert len(caught_up) == 4
    writer.commit()
    assert writer.reader().documents() == 48
