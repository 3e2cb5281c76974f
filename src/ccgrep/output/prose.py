"""Untrusted text as HTML that cannot act: the only module that knows Pygments and markdown-it.

Markdown becomes elements of a fixed set without any attribute: links, images, entities and raw
HTML stay the text that they are. Code is highlighted here, so that a page needs no script.
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

_ACTING = ["autolink", "entity", "html_block", "html_inline", "image", "link", "reference"]
_MAX_MARKDOWN = 200_000
_MAX_CODE = 50_000
_MAX_LINE = 1000
"""More characters, or longer lines, are shown as they are: neither library promises to be fast on
any text, and some of Pygments' lexers take time by the square of a run of one character."""

_LANGUAGE = re.compile(r"[\w+#./-]{1,100}")


def line(text: str) -> str:
    """Text in one line."""
    return html.escape(one_line(text))


def plain(text: str) -> str:
    """Text as it stands, for an element that keeps white space."""
    return html.escape(escape(text))


def rich(text: str) -> str:
    """Text that was written as Markdown."""
    if len(text) > _MAX_MARKDOWN:
        return code(text)
    parser = _parser()
    tokens = parser.parse(escape(text))
    _drop_attributes(tokens)
    made: str = parser.renderer.render(tokens, parser.options, {})
    return made


def code(text: str, language: str = "") -> str:
    """Code in a language, which a name or the name of a file tells; without one as it stands."""
    shown = escape(text).strip("\n")
    lexer = _lexer(language) if _is_usual(shown) else None
    inner = highlight(shown, lexer, HtmlFormatter(nowrap=True)) if lexer else html.escape(shown)
    return f'<pre class="code"><code>{inner}</code></pre>'


def colours(style: str) -> str:
    """The CSS of highlighted code."""
    rules: str = HtmlFormatter(style=style).get_style_defs(".code")  # type: ignore[no-untyped-call]
    return "\n".join(rule for rule in rules.splitlines() if rule.startswith(".code"))


def _is_usual(code: str) -> bool:
    return len(code) <= _MAX_CODE and max(map(len, code.split("\n"))) <= _MAX_LINE


@cache
def _parser() -> MarkdownIt:
    options = {"html": False, "breaks": True, "highlight": lambda text, name, _: code(text, name)}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"]).disable(_ACTING)


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
        found = find_lexer_class_for_filename(language)
    except ClassNotFound:
        return None
    return found() if found is not None else None
