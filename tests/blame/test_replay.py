"""Replaying changes backwards finds the change that wrote a line or none, but never a wrong one."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ccgrep.blame.file_access import Change
from ccgrep.blame.replay import AmbiguousLineError, find_writer

Step = tuple[bool, bool, int, int, int, bool]
STEPS = st.lists(
    st.tuples(
        st.booleans(),  # whether a tool made the change, or a person
        st.integers(0, 9).map(lambda n: n == 0),  # whether it writes the whole file
        st.integers(0, 20),  # the line where it starts
        st.integers(0, 3),  # how many lines it removes
        st.integers(0, 3),  # how many lines it adds
        st.booleans(),  # whether it includes a line of context on either side
    ),
    max_size=12,
)


def apply_steps(
    start: int, steps: list[Step]
) -> tuple[list[tuple[str, int | None]], list[Change | None]]:
    """Return the lines, each with the number of the step that wrote it, and the known changes."""
    lines: list[tuple[str, int | None]] = [(f"start {n}", None) for n in range(start)]
    changes: list[Change | None] = []
    for number, (is_known, is_whole, where, removed, added, has_context) in enumerate(steps):
        writer = number if is_known else None
        new = [(f"line {number} {n}", writer) for n in range(added)]
        if is_whole:
            lines, change = new, Change(None, join_lines(new))
        else:
            at = min(where, len(lines))
            first, last = (at - 1, at + removed + 1) if has_context and at else (at, at + removed)
            old_lines = lines[first:last]
            new_lines = lines[first:at] + new + lines[at + removed : last]
            lines = lines[:first] + new_lines + lines[last:]
            change = Change(join_lines(old_lines), join_lines(new_lines), is_whole_lines=True)
            if old_lines == new_lines or not new_lines or not old_lines:
                # No tool call describes such a change: it needs an old and a new text.
                lines = [(text, None if own == number else own) for text, own in lines]
                changes.append(None)
                continue
        changes.append(change if is_known else None)
    return lines, changes


def join_lines(lines: list[tuple[str, int | None]]) -> str:
    return "\n".join(text for text, _ in lines)


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 6), STEPS)
def test_line_has_its_writer_or_none(start: int, steps: list[Step]) -> None:
    lines, changes = apply_steps(start, steps)
    newest_first = [(n, c) for n, c in reversed(list(enumerate(changes))) if c is not None]
    is_all_known = all(change is not None for change in changes)
    for number, (text, writer) in enumerate(lines, 1):
        try:
            found = find_writer(join_lines(lines), number, newest_first)
        except AmbiguousLineError:
            continue
        assert found == writer or (found is None and not is_all_known), text
