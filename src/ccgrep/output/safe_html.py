"""Renders untrusted text as inert HTML; the only module that imports Pygments and markdown-it.

Markdown becomes a fixed set of elements without attributes. Links, images, entities and raw HTML
stay plain text. Code is highlighted here, so that a page needs no script.
"""

import html
import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_for_filename, get_lexer_by_name
from pygments.util import ClassNotFound

from ccgrep.text import escape, one_line

_DISABLED_RULES = ["autolink", "entity", "html_block", "html_inline", "image", "link", "reference"]

# Longer texts are not rendered: neither library guarantees linear time, and some lexers of
# Pygments take quadratic time on a run of one character.
_MAX_MARKDOWN_CHARS = 200_000
_MAX_CODE_CHARS = 50_000
_MAX_CODE_LINE_CHARS = 1000

_LANGUAGE = re.compile(r"[\w+#./-]{1,100}")


def render_line(text: str) -> str:
    """Return the text in one line."""
    return html.escape(one_line(text))


def render_markdown(text: str) -> str:
    if len(text) > _MAX_MARKDOWN_CHARS:
        return render_code(text)
    parser = _parser()
    tokens = parser.parse(escape(text))
    _drop_attributes(tokens)
    rendered: str = parser.renderer.render(tokens, parser.options, {})
    return rendered


def render_code(text: str, language: str = "") -> str:
    """Return highlighted code. `language` is a name, a file name, or empty for plain text."""
    code = escape(text).strip("\n")
    lexer = _lexer(language) if _is_highlightable(code) else None
    inner = highlight(code, lexer, HtmlFormatter(nowrap=True)) if lexer else html.escape(code)
    return f'<pre class="code"><code>{inner}</code></pre>'


def highlighting_css(style: str) -> str:
    rules: str = HtmlFormatter(style=style).get_style_defs(".code")  # type: ignore[no-untyped-call]
    return "\n".join(rule for rule in rules.splitlines() if rule.startswith(".code"))


def _is_highlightable(code: str) -> bool:
    return len(code) <= _MAX_CODE_CHARS and max(map(len, code.split("\n"))) <= _MAX_CODE_LINE_CHARS


@cache
def _parser() -> MarkdownIt:
    options = {
        "html": False,
        "breaks": True,
        "highlight": lambda text, name, _: render_code(text, name),
    }
    parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    return parser.disable(_DISABLED_RULES)


def _drop_attributes(tokens: list[Token]) -> None:
    for token in tokens:
        token.attrs = {}
        _drop_attributes(token.children or [])


def _lexer(language: str) -> Lexer | None:
    if not _LANGUAGE.fullmatch(language):
        return None
    try:
        if "/" not in language and "." not in language:
            return get_lexer_by_name(language)
        lexer = find_lexer_class_for_filename(language)
    except ClassNotFound:
        return None
    return lexer() if lexer is not None else None
