"""Lines of a conversation are wrapped between words, and anywhere in Chinese and Japanese."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccgrep.output.indented_text import hang, indent
from ccgrep.text import columns


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("alpha beta gamma delta epsilon", ["alpha beta gamma", "delta epsilon"]),
        ("x" * 30, ["x" * 20, "x" * 10]),
        ("改過是真的 10 種建構迴圈的手法", ["改過是真的 10 種建構", "迴圈的手法"]),
        ("建立一個快又確定的回饋，再看結果", ["建立一個快又確定的回", "饋，再看結果"]),
        ("建立一個快又確定的回。再看結果", ["建立一個快又確定的", "回。再看結果"]),
        ("建立一個快又確定的（再看結果）", ["建立一個快又確定的", "（再看結果）"]),
        ("`diagnosing-bugs` 給的", ["`diagnosing-bugs` 給", "的"]),
    ],
)
def test_rows_end_where_a_reader_expects_it(text: str, rows: list[str]) -> None:
    assert indent(text, 24) == [f"    {row}" for row in rows]


@given(st.text("ab 中、（é\t", max_size=80), st.integers(24, 50))
def test_rows_fit_and_no_character_is_lost(text: str, width: int) -> None:
    rows = indent(text, width)
    assert all(columns(row) <= width for row in rows)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "").replace("\t", "")
    assert columns(f"you: {hang('you:', text, width)[0]}") <= width
