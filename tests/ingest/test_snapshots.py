"""Any sequence of changes to transcripts, ingested step by step, equals a fresh index."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ccgrep.store.fsio import remove_tree
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile, CodexFile

changes = st.lists(
    st.tuples(
        st.sampled_from(
            ["turn", "grow", "rewind", "delete", "fork", "move", "copy", "codex", "index", "index"]
        ),
        st.integers(0, 3),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=14,
)


class Author:
    """Changes transcripts the way users and agents do."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.files: list[ClaudeFile] = []
        self.made = 0
        self.copied: set[str] = set()
        self.known_better: set[str] = set()

    def apply(self, change: str, which: int, size: int) -> None:
        self.made += 1
        if change == "index":
            self.home.index()
        elif change == "codex":
            rollout = CodexFile(self.home.codex_sessions, seed=which)
            rollout.meta()
            for number in range(size + 1):
                rollout.turn(f"codex {number}", "done", "ls", "x")
            rollout.write()
        else:
            file = self._file(which)
            if change in ("delete", "rewind", "move"):
                # The store may know more of the session than the copy that stays.
                self.known_better |= {file.id} & self.copied
            getattr(self, change)(file, size)

    def _file(self, which: int) -> ClaudeFile:
        while len(self.files) <= which:
            file = self.home.claude(len(self.files) + 1)
            file.turn("first", f"answer {len(self.files)}")
            file.write()
            self.files.append(file)
        return self.files[which]

    def turn(self, file: ClaudeFile, size: int) -> None:
        file.turn(f"prompt {self.made}", "answer " * size)
        file.write()

    def grow(self, file: ClaudeFile, size: int) -> None:
        file.result(file.call("Bash", {"command": f"echo {self.made}"}), "x" * size)
        file.write()

    def rewind(self, file: ClaudeFile, size: int) -> None:
        del file.records[max(len(file.records) - size, 1) :]
        file.write()

    def delete(self, file: ClaudeFile, size: int) -> None:
        file.path.unlink(missing_ok=True)

    def fork(self, file: ClaudeFile, size: int) -> None:
        fork = file.fork(file.path.parent, max(len(file.records) - size, 1), 100 + self.made)
        fork.turn("fork", "ed")
        fork.write()

    def copy(self, file: ClaudeFile, size: int) -> None:
        """Write a backup of the first part of a transcript, as another tool may leave it."""
        target = self.home.projects / f"-copy-{size}" / file.path.name
        target.parent.mkdir(exist_ok=True)
        lines = file.lines()
        target.write_bytes(b"".join(lines[: len(lines) - size]))
        self.copied.add(file.id)

    def move(self, file: ClaudeFile, size: int) -> None:
        target = self.home.projects / f"-moved-{size}" / file.path.name
        target.parent.mkdir(exist_ok=True)
        if file.path.exists():
            file.path.rename(target)
        file.path = target


@settings(max_examples=scale.of(20, 80))
@example(
    # An empty copy that is read first once kept the moved, rewound file from replacing the session.
    [
        ("turn", 2, 0),
        ("index", 0, 0),
        ("rewind", 1, 1),
        ("turn", 0, 0),
        ("turn", 2, 0),
        ("move", 1, 0),
        ("copy", 1, 1),
    ]
)
@given(changes)
def test_changes_ingested_step_by_step_equal_a_fresh_index(
    sequence: list[tuple[str, int, int]],
) -> None:
    directory = Path(tempfile.mkdtemp())
    try:
        home = Home(directory / "home")
        author = Author(home)
        for change in sequence:
            author.apply(*change)
        home.index()
        assert_same_as_fresh(home, but=author.known_better)
        home.index()  # reads copies of a rewritten session once more
        before: Any = {id: row.manifest for id, row in home.rows().items()}
        report = home.index()
        assert (report.bytes_parsed, report.new_objects) == (0, 0)
        assert {id: row.manifest for id, row in home.rows().items()} == before
    finally:
        remove_tree(str(directory))
