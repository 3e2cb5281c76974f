"""Replaying changes backwards names the change that wrote a line, or none; never another."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ccgrep.blame.file_changes import Change
from ccgrep.blame.replay import UnclearError, writer

Step = tuple[bool, bool, int, int, int, bool]
STEPS = st.lists(
    st.tuples(
        st.booleans(),  # whether it is known, or by hand
        st.integers(0, 9).map(lambda n: n == 0),  # whether it writes the whole file
        st.integers(0, 20),  # where it begins
        st.integers(0, 3),  # how many lines it takes away
        st.integers(0, 3),  # how many it puts there
        st.booleans(),  # whether it shows a line of context on either side
    ),
    max_size=12,
)


def lived(
    start: int, steps: list[Step]
) -> tuple[list[tuple[str, int | None]], list[Change | None]]:
    """Lines with the number of the step that wrote each, and the steps as changes."""
    lines: list[tuple[str, int | None]] = [(f"start {n}", None) for n in range(start)]
    changes: list[Change | None] = []
    for number, (is_known, is_whole, where, gone, come, has_context) in enumerate(steps):
        owner = number if is_known else None
        new = [(f"line {number} {n}", owner) for n in range(come)]
        if is_whole:
            lines, change = new, Change(None, text_of(new))
        else:
            at = min(where, len(lines))
            first, last = (at - 1, at + gone + 1) if has_context and at else (at, at + gone)
            old_lines = lines[first:last]
            new_lines = lines[first:at] + new + lines[at + gone : last]
            lines = lines[:first] + new_lines + lines[last:]
            change = Change(text_of(old_lines), text_of(new_lines), is_lines=True)
            if old_lines == new_lines or not new_lines or not old_lines:
                # Taken away or put nowhere in particular: as a tool cannot say it.
                for n, (text, own) in enumerate(lines):
                    lines[n] = (text, None if own == number else own)
                changes.append(None)
                continue
        changes.append(change if is_known else None)
    return lines, changes


def text_of(lines: list[tuple[str, int | None]]) -> str:
    return "\n".join(text for text, _ in lines)


@settings(deadline=None, max_examples=400)
@given(st.integers(0, 6), STEPS)
def test_a_line_has_its_writer_or_none(start: int, steps: list[Step]) -> None:
    lines, changes = lived(start, steps)
    newest_first = [(n, c) for n, c in reversed(list(enumerate(changes))) if c is not None]
    is_all_known = all(change is not None for change in changes)
    for number, (text, owner) in enumerate(lines, 1):
        try:
            found = writer(text_of(lines), number, newest_first)
        except UnclearError:
            continue
        assert found == owner or (found is None and not is_all_known), text
