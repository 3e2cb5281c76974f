"""`ccgrep export`: every format, and hostile text in it."""

import base64
import hashlib
import json
import re
import shutil
import stat
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ccgrep.output import safe_html
from tests.helpers.attacks import ATTACKS, BENIGN, acting
from tests.helpers.homes import Home
from tests.helpers.hostile_home import write_sessions
from tests.helpers.imports import imported_modules

MARKUP: tuple[str, ...] = (
    "<script>document.title = 'owned'</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "</pre></code></details></div></section></article></main></body></html><script>x</script>",
    "</style><style>* { display: none }</style>",
    "</title><script>x</script>",
    "<!-- comment --> <![CDATA[ x ]]> <?php x ?> <!doctype html>",
    "[click](javascript:alert(1)) [ref]: javascript:x <javascript:x> <http://evil.example>",
    "![image](http://evil.example/track.png)",
    "[link](http://evil.example 'title')",
    "[ref][1]\n\n[1]: http://evil.example 'x'",
    "&#60;script&#62; &lt;script&gt; &#x202e;evil &nbsp; &#0;",
    "```html\n<script>x</script>\n```",
    '```"><script>x</script>\n<b>\n```',
    "``` onload=x\n<b>\n",
    "~~~python class=evil\nprint('<script>')\n~~~",
    "| a | b |\n|:--|--:|\n| <script> | <b onclick=x> |",
    "7. from seven\n8. on",
    "<a href='javascript:x'>**bold <b>**</a>",
    "https://evil.example www.evil.example evil@evil.example",
    "# Turn 7\n\n## Turn 8\n\n**User:**\n\n> forged",
    "Setext\n===\n\n---\n\n***\n",
    "> > > > quote\n\n    indented <b>code</b>\n",
)
TAGS = {
    "a", "article", "blockquote", "body", "br", "code", "details", "div", "em", "h1", "h2", "h3",
    "head", "hr", "html", "li", "main", "meta", "ol", "p", "pre", "s", "section", "span", "strong",
    "style", "summary", "table", "tbody", "td", "th", "thead", "title", "tr", "ul",
}  # fmt: skip
VOID = ("meta", "br", "hr")
ATTRIBUTES = {
    "class": r"code|typed|said|who you|who agent|facts|note|blob|[a-z]{1,3}[0-9]?|",
    "id": r"s\d+(-t\d+)?",
    "href": r"#s\d+(-t\d+)?",
    "dir": "auto",
    "charset": "utf-8",
    "http-equiv": "Content-Security-Policy",
    "content": r"default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; img-src data:; "
    r"base-uri 'none'; form-action 'none'|no-referrer|width=device-width, initial-scale=1",
    "name": "referrer|viewport",
}


class Page(HTMLParser):
    """The elements and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.unexpected: list[str] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.styles: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.unexpected.append(tag)
        for name, value in attrs:
            if not re.fullmatch(ATTRIBUTES.get(name, "(?!)"), value or ""):
                self.unexpected.append(f"{tag} {name}={value}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID and self.open.pop() != tag:
            self.unexpected.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        (self.styles if self.open[-1:] == ["style"] else self.text).append(data)

    def handle_comment(self, data: str) -> None:
        self.unexpected.append(f"comment {data}")

    def handle_pi(self, data: str) -> None:
        self.unexpected.append(f"instruction {data}")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("export") / "home")
    write_sessions(home, [*ATTACKS.values(), *(f"\n\n{text}\n\n" for text in MARKUP)])
    return home


@pytest.fixture
def shop(home: Home) -> Home:
    file = home.claude()
    file.prompt("fix <b>it</b>\n  please **now**")
    file.blocks(
        {"type": "thinking", "thinking": "hmm"},
        {"type": "text", "text": "So:\n\n```python\ndef f(): pass\n```\n\n- one\n- `two`"},
    )
    change = {"file_path": "/x/a.py", "old_string": "a = 1", "new_string": "a = 2\nb = 3"}
    file.result(file.call("Edit", change), "done")
    file.result(file.call("Write", {"file_path": "/x/b.py", "content": "import os"}), "")
    file.result(file.call("Bash", {"command": "ls | wc"}), "3 ```` 4", is_error=True)
    file.result(file.call("Other", {"x": [1]}), [{"type": "text", "text": "yes"}])
    file.answer("Done.")
    file.turn("thanks", "Welcome.")
    file.meta("ai-title", aiTitle="Fix list<it>")
    file.write()
    home.index()
    return home


def all_ids(home: Home) -> str:
    return "\n".join(home.rows())


def export(home: Home, *options: str) -> str:
    done = home.run("export", "-", *options, input=all_ids(home))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


EVERYTHING = ("--tools", "--thinking")


@pytest.mark.parametrize("format", ["md", "html", "json"])
@pytest.mark.parametrize("options", [(), EVERYTHING], ids=["discussion", "everything"])
def test_hostile_text_is_inert_in_every_format(
    hostile: Home, format: str, options: tuple[str, ...]
) -> None:
    text = export(hostile, "--format", format, *options)
    assert acting(text, also="\n\t" if format != "json" else "\n") == []


def test_messages_add_no_element_or_attribute_to_the_page(hostile: Home) -> None:
    page = Page(export(hostile, "--format", "html", *EVERYTHING))
    assert (page.unexpected, page.open) == ([], [])
    assert (len(page.styles), page.text.count("Turn 1")) == (1, len(ATTACKS) + len(MARKUP))
    text_of_page = "".join(page.text)
    for text in ("<script>document.title = 'owned'</script>", "](javascript:alert(1))", "&#x202e;"):
        assert text in text_of_page


def test_content_security_policy_allows_only_style_and_images_of_the_page(shop: Home) -> None:
    text = export(shop, "--format", "html")
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    assert text.index("Content-Security-Policy") < text.index("<title>") < text.index("<style>")
    assert not re.search(r"https?:|url\(|@import|<script|<link", text)


def test_text_cannot_escape_its_quotation_in_markdown(hostile: Home) -> None:
    """Every line is quoted, fenced, or a heading, label or fence of ccgrep."""
    fence = ""
    heads = 0
    for line in export(hostile, "--format", "md", *EVERYTHING).split("\n"):
        if fence:
            fence = "" if line == fence else fence
        elif opened := re.fullmatch(r"(`{3,})[A-Za-z0-9+#-]*", line):
            fence = opened[1]
        else:
            ours = r"(> .*|>||---|# .*|- .*|## Turn \d+|\*\*(User|Assistant|Thinking):\*\*|"
            ours += r"\*\*Tool:\*\* .*|\*\(\w+\)\* .*|\d{4}-\d\d-\d\d \d\d:\d\d · `@[0-9a-f]{10}`)"
            assert re.fullmatch(ours, line), line
            heads += line.startswith("## ")
    assert heads == 2 * (len(ATTACKS) + len(MARKUP))


def test_json_keeps_the_original_text(hostile: Home) -> None:
    document = json.loads(export(hostile, "--format", "json"))
    assert document["schema"] == 1
    messages = {m["content"] for s in document["sessions"] for m in s["messages"]}
    for number, text in enumerate(MARKUP, len(ATTACKS)):
        assert f"needle{number} commonword \n\n{text}\n\n tail{number}" in messages


@pytest.mark.parametrize("text", BENIGN)
def test_ordinary_text_is_exported_unchanged(home: Home, text: str) -> None:
    file = home.claude()
    file.turn(text, text)
    file.write()
    home.index()
    rendered = text.replace("`", "")  # of Markdown
    assert "".join(Page(export(home, "-f", "html")).text).count(rendered) >= 2
    assert f"> {text}\n" in export(home)


def test_page_has_headings_highlighting_and_tool_calls(shop: Home) -> None:
    text = export(shop, "--format", "html", *EVERYTHING)
    assert "<h1>Fix list&lt;it&gt;</h1>" in text
    prompt = "<p>fix &lt;b&gt;it&lt;/b&gt;<br />\nplease <strong>now</strong></p>"
    assert f'<div class="typed" dir="auto">{prompt}\n</div>' in text
    assert '<span class="k">def</span>' in text
    assert "<li>one</li>" in text and "<li><code>two</code></li>" in text
    assert '<span class="gd">-a = 1</span>' in text and '<span class="gi">+b = 3</span>' in text
    assert '<span class="kn">import</span>' in text
    assert "<summary>[Bash] ls | wc (failed)</summary>" in text
    assert "<summary>Thinking</summary>" in text
    plain = export(shop, "--format", "html")
    assert "<details>" not in plain and "hmm" not in plain


def test_page_has_a_heading_of_one_line_and_the_command_to_resume(home: Home) -> None:
    file = home.claude(name="aaaaaaaa-first")
    file.turn("explain " * 40, "yes")
    file.write()
    home.index()
    text = export(home, "--format", "html")
    (heading,) = re.findall("<h1>(.*)</h1>", text)
    assert heading.startswith("explain explain")
    assert re.search(r"\nh1 {[^}]* white-space: nowrap; overflow: hidden; text-overflow: e", text)
    facts = re.findall('<p class="facts">(.*)</p>', text)
    assert facts == [
        "/home/sam/src/shop · 2026-09-21 14:42 · Duration: 1s | Messages: 2 | Tools: 0",
        "<code>ccgrep resume aaaaaaaa-first</code>",
    ]


def test_ids_and_paths_in_markdown_can_be_copied(home: Home) -> None:
    file = home.claude(name="aaaaaaaa-first_one", cwd="/home/sam/`my`_[shop]*")
    file.turn("hello", "yes")
    file.write()
    home.index()
    head = export(home).partition("## ")[0].splitlines()
    assert head[2:4] == [
        "- Session: `aaaaaaaa-first_one` (Claude)",
        "- Project: ``/home/sam/`my`_[shop]*``",
    ]
    assert head[-2] == "- Resume: `ccgrep resume aaaaaaaa-first_one`"
    assert "\\" not in "".join(head)


def test_markdown_fence_is_longer_than_any_fence_inside(shop: Home) -> None:
    text = export(shop, *EVERYTHING)
    assert "`````\n3 ```` 4\n`````\n" in text
    assert "```py\nimport os\n```\n" in text and "```diff\n-a = 1\n" in text


def test_long_text_is_not_highlighted() -> None:
    assert "<span" in safe_html.render_code("x = 1\n" * 1000, "python")
    assert "<span" not in safe_html.render_code("x = 1\n" * 10_000, "python")
    assert "<span" not in safe_html.render_code("x = " + "." * 1000, "python")
    assert "<em>" in safe_html.render_markdown("*a* " * 1000)
    assert "<em>" not in safe_html.render_markdown("*a* " * 60_000)


def test_file_name_of_an_unknown_format_is_an_error(shop: Home, tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    done = shop.run("export", *shop.rows(), "-o", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"ccgrep: cannot write '{path}' as .pdf: name it .md, .html or .json, or choose one of "
        "them with --format\n"
    )
    assert not path.exists()
    assert shop.run("export", *shop.rows(), "-f", "md", "-o", str(path)).returncode == 0


def test_file_name_selects_the_format(shop: Home, tmp_path: Path) -> None:
    for name, start in (("a.html", "<!doctype html>"), ("a.json", '{"schema"'), ("a.txt", "# Fix")):
        path = tmp_path / name
        path.write_text("before")
        done = shop.run("export", *shop.rows(), "-o", str(path))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert path.read_text(encoding="utf-8").startswith(start)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    named = shop.run("export", *shop.rows(), "-f", "json", "-o", str(tmp_path / "b.html"))
    assert named.returncode == 0
    json.loads((tmp_path / "b.html").read_text())
    assert sorted(path.name for path in tmp_path.glob("[ab].*")) == [
        "a.html",
        "a.json",
        "a.txt",
        "b.html",
    ]


def test_output_replaces_only_regular_files(shop: Home, tmp_path: Path) -> None:
    link = tmp_path / "link.md"
    link.symlink_to(tmp_path / "real.md")
    assert shop.run("export", *shop.rows(), "-o", str(link)).returncode == 0
    assert link.is_symlink() and (tmp_path / "real.md").is_file()
    for path, message in (
        ("/dev/null", "is not a regular file"),
        (str(tmp_path), "is not a regular file"),
        (str(tmp_path / "no" / "x.md"), "is not a directory"),
    ):
        done = shop.run("export", *shop.rows(), "-o", path)
        assert (done.returncode, message in done.stderr) == (2, True)
    assert Path("/dev/null").is_char_device()


def test_unknown_ref_writes_no_file(shop: Home, tmp_path: Path) -> None:
    done = shop.run("export", *shop.rows(), "zzzzzzzz", "-o", str(tmp_path / "x.md"))
    assert (done.returncode, "no session matches" in done.stderr) == (2, True)
    assert not (tmp_path / "x.md").exists()


def test_only_html_imports_the_html_libraries(shop: Home) -> None:
    file = shop.claude(9)
    file.turn("zebra", "yes")
    file.write()
    shop.index()
    assert not imported_modules(shop, "export", file.id) & {"pygments", "markdown_it"}
    assert imported_modules(shop, "export", file.id, "-f", "html") >= {"pygments", "markdown_it"}


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
def test_browser_runs_nothing_and_shows_everything(hostile: Home, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(export(hostile, "--format", "html", *EVERYTHING), encoding="utf-8")
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", path.as_uri()],
        env={**hostile.environment, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    seen = Page(done.stdout)
    assert (seen.unexpected, "owned" in done.stdout.partition("</title>")[0]) == ([], False)
    assert seen.text.count("Turn 1") == len(ATTACKS) + len(MARKUP)
