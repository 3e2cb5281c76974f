"""The full-text index follows HEAD, and is rebuilt if it cannot be changed."""

from pathlib import Path

from ccgrep.fulltext import generations
from tests.helpers.homes import Home, assert_same_as_fresh


def test_index_that_cannot_be_locked_is_rebuilt(home: Home) -> None:
    file = home.claude()
    file.turn("prompt 1", "answer 1")
    file.write()
    home.index()
    before = generations.current(str(home.store_dir))
    assert before is not None
    lock = Path(before.path) / ".tantivy-writer.lock"
    lock.unlink(missing_ok=True)
    lock.mkdir()  # as on a disk that is full or damaged
    file.turn("prompt 2", "answer 2")
    file.append()
    done = home.run("index")
    assert (done.returncode, "full-text index" in done.stderr) == (0, False), done.stderr
    after = generations.current(str(home.store_dir))
    assert after is not None
    assert after.path != before.path
    assert_same_as_fresh(home)
