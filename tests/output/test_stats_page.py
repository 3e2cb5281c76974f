"""`ccgrep stats --html`: one page without scripts, whose numbers are those of the report."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ccgrep.output.calendar import heat_map, layout
from ccgrep.output.style import Style
from ccgrep.output.svg_charts import Column, bars, columns
from tests.helpers.attacks import ATTACKS, acting
from tests.helpers.homes import Home
from tests.helpers.hostile_home import write_sessions
from tests.helpers.terminal import on_terminal

ELEMENTS = set(
    "html head meta title style body main header h1 h2 p dl div dt dd section small svg text rect "
    "line ul li span b i".split()
)
VOID = ("meta", "rect", "line")


class Reader(HTMLParser):
    """Checks that elements are known and nested, and collects texts and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta" and not (self.get_starttag_text() or "").endswith("/>"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID or self.open[-1] == tag:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def write_page(home: Home, *words: str) -> str:
    path = home.directory / "page.html"
    done = home.run("stats", "--html", str(path), *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{path}\n", "")
    return path.read_text(encoding="utf-8")


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


@pytest.fixture
def shop(home: Home) -> Home:
    file = home.claude(1)
    for number in range(4):
        file.prompt(f"prompt {number}")
        file.result(file.call("Bash", {"command": "make"}), "ok")
        usage = {"input_tokens": 1_000_000, "output_tokens": 0}
        file.answer("done", model="claude-haiku-4-5", usage=usage)
        file.now_ms += 10 * 86_400_000
    file.write()
    home.index()
    return home


def test_page_has_the_numbers_and_needs_nothing_else(shop: Home) -> None:
    page = write_page(shop)
    found = read(page)
    assert found.seen <= ELEMENTS
    assert not any(name.startswith("on") or name in ("href", "src") for name in found.attributes)
    assert not re.search(r"https?:|url\(|@import|javascript:", page)
    assert "$4.00" in page and "week of 2026-09-21: $1.00" in page and "2026-09-28" in page
    assert "<title>2026-09-21: 1</title>" in page
    assert {"Activity", "Tokens", "Cost", "Models", "Tools"} <= {t.strip() for t in found.texts}
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in page
    assert "prefers-color-scheme: dark" in style and "@media print" in style


def test_weeks_without_turns_have_a_place_in_the_charts(shop: Home) -> None:
    page = write_page(shop)
    weeks = re.findall(r"<title>week of (2026-\d\d-\d\d): \$", page)
    assert weeks == ["2026-09-21", "2026-09-28", "2026-10-05", "2026-10-12", "2026-10-19"]


def test_page_takes_filters_and_may_be_empty(shop: Home) -> None:
    assert "$1.00" in write_page(shop, "--since", "2026-10-15")
    empty = write_page(shop, "--since", "2027-01-01")
    assert "no turns" in empty and "<rect" not in empty
    read(empty)


def test_hostile_text_is_inert_in_the_page(home: Home) -> None:
    write_sessions(home, [*ATTACKS.values(), "<script>alert(1)</script>", '"><img src=x>'])
    page = write_page(home)
    assert acting(page, also="\n") == []
    assert read(page).seen <= ELEMENTS


def test_options_that_have_no_effect_on_the_page_are_errors(shop: Home, tmp_path: Path) -> None:
    path = str(tmp_path / "x.html")
    for words in (("tokens",), ("--json",), ("-n", "3"), ("--by", "day")):
        assert shop.run("stats", "--html", path, *words).returncode == 2
    assert not (tmp_path / "x.html").exists()
    assert shop.run("stats", "--html", str(tmp_path / "no" / "x.html")).returncode == 2


def test_terminal_shows_a_calendar(shop: Home) -> None:
    lines = on_terminal(shop, "stats", NO_COLOR="1").splitlines()
    at = lines.index("Activity (turns a day)")
    assert lines[at + 1 : at + 9] == [
        "       Oct",
        "  Mon █····",
        "      ·····",
        "  Wed ····█",
        "      ·█··",
        "  Fri ····",
        "      ····",
        "      ··█·",
    ]


def test_calendar_begins_on_monday_and_ends_with_the_last_day() -> None:
    weeks = layout({"2026-09-22": 1, "2026-10-01": 8, "": 5}, 53)
    assert [week.month for week in weeks] == ["", "Oct"]
    assert [cell and cell.level for cell in weeks[0].cells] == [None, 1, 0, 0, 0, 0, 0]
    assert [cell and cell.value for cell in weeks[1].cells] == [0, 0, 0, 8, None, None, None]
    assert layout({"2020-01-01": 1, "2026-10-01": 8}, 2)[0].cells[0] is not None
    assert layout({}, 5) == []
    narrow = list(heat_map("x", {"2020-01-01": 1, "2026-10-01": 8}, 20, Style()))
    assert max(map(len, narrow)) <= 20


def test_charts_without_values_are_empty() -> None:
    assert (
        list(columns([], str)) == list(columns([Column("a", 0, "")], str)) == list(bars([])) == []
    )
