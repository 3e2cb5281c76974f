"""The pages of a site that list sessions: by day, by project, and the front page with the search.

The pages of the sessions are those of `conversation_html`. Only the front page has a script.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import groupby

from ccgrep.model import Session
from ccgrep.output.conversation_html import page_head
from ccgrep.output.formatting import agent_name, local_time, pluralize
from ccgrep.output.safe_html import render_line
from ccgrep.paths import last_name
from ccgrep.text import clip, one_line

_RECENT = 50
_TITLE_COLUMNS = 120
_HERE = os.path.dirname(__file__)


def site_pages(sessions: Sequence[Session]) -> Iterator[tuple[str, str]]:
    """Yield the names and the contents of the pages; the newest session is the first."""
    by_project = _group(sessions, lambda session: session.project)
    by_month = _group(sessions, lambda session: _day(session)[:7])
    projects = [
        (_project_page(path), last_name(path) or "(unknown)", path, own)
        for path, own in sorted(by_project.items(), key=lambda item: last_name(item[0]).lower())
    ]
    months = [(f"month/{month}.html", month, "", own) for month, own in by_month.items()]
    for name, title, fact, own in (*projects, *months):
        yield name, "\n".join(_listing_page(title, fact, own))
    yield "index.html", "\n".join(_front_page(sessions, projects, months))
    yield "site.js", _read("site.js")


def _project_page(path: str) -> str:
    return f"project/{sha256(path.encode()).hexdigest()[:12]}.html"


def session_page(id: str) -> str:
    """Return the name of a session's page."""
    return f"session/{id}.html"


_Links = list[tuple[str, str, str, list[Session]]]
"""The page of a list, its title, what to know about it, and its sessions."""


def _group(sessions: Sequence[Session], key: Callable[[Session], str]) -> dict[str, list[Session]]:
    groups: dict[str, list[Session]] = {}
    for session in sessions:
        groups.setdefault(key(session), []).append(session)
    return groups


def _front_page(sessions: Sequence[Session], projects: _Links, months: _Links) -> Iterator[str]:
    yield from page_head("Sessions", allows_scripts=True)
    yield '<body><main class="listing"><h1>Sessions</h1>'
    yield '<p><input id="query" type="search" placeholder="Search" aria-label="Search" autofocus>'
    yield ' <span id="found" class="facts" role="status"></span></p><ol id="hits"></ol>'
    yield "<noscript><p>The search needs JavaScript.</p></noscript>"
    yield '<div id="listing">'
    yield from _links("Projects", projects)
    yield from _links("Months", months)
    main = [session for session in sessions if session.kind == "main"]
    yield from _days(main[:_RECENT], "")
    yield '</div></main><script src="site.js"></script></body></html>'


def _links(name: str, links: _Links) -> Iterator[str]:
    yield f"<h2>{name}</h2><ul>"
    for page, title, fact, own in links:
        facts = " · ".join(filter(None, (pluralize(len(own), "session"), fact)))
        yield f'<li><a href="{page}">{render_line(title)}</a>'
        yield f' <span class="facts">{render_line(facts)}</span></li>'
    yield "</ul>"


def _listing_page(title: str, fact: str, sessions: Sequence[Session]) -> Iterator[str]:
    yield from page_head(title)
    yield '<body><main class="listing"><p><a href="../index.html">All sessions</a></p>'
    yield f"<h1>{render_line(title)}</h1>"
    if fact:
        yield f'<p class="facts">{render_line(fact)}</p>'
    yield from _days(sessions, "../")
    yield "</main></body></html>"


def _days(sessions: Iterable[Session], up: str) -> Iterator[str]:
    for day, own in groupby(sessions, _day):
        yield f"<h2>{render_line(day)}</h2><ul>"
        for session in own:
            title = clip(one_line(session.title), _TITLE_COLUMNS) or session.id
            kind = "" if session.kind == "main" else "sub-agent"
            facts = (last_name(session.project), agent_name(session.source), kind)
            shown = " · ".join([*filter(None, facts), pluralize(session.turns, "turn")])
            yield f'<li><a href="{up}{session_page(session.id)}">{render_line(title)}</a>'
            yield f' <span class="facts">{render_line(shown)}</span></li>'
        yield "</ul>"


def _day(session: Session) -> str:
    return local_time(session.ended).partition(" ")[0] if session.ended else "unknown"


def _read(name: str) -> str:
    with open(os.path.join(_HERE, name), encoding="utf-8") as file:
        return file.read()
