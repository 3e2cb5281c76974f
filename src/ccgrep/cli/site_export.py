"""`ccgrep export --site DIR`: a static site of sessions that is kept up to date."""

from hashlib import sha256
from types import SimpleNamespace

from msgspec.json import encode

from ccgrep import __version__
from ccgrep.cli.context import Context
from ccgrep.cli.progress import shared_bar
from ccgrep.config import Config
from ccgrep.model import ObjectId
from ccgrep.ops.list import ListedSession, list_sessions
from ccgrep.ops.save_file import write_file
from ccgrep.ops.show import Conversation, find_sessions, read_blob, show_range
from ccgrep.ops.site import SiteFolder
from ccgrep.output.conversation_html import html_lines
from ccgrep.output.formatting import local_time, pluralize
from ccgrep.output.site_pages import session_page, site_pages
from ccgrep.output.site_search import SearchData
from ccgrep.output.turn_parts import Include
from ccgrep.search.request import Filters

_FORMAT = 2  # A new number makes the next run write every page again.


def export_site(arguments: SimpleNamespace, context: Context, config: Config) -> int:
    folder = SiteFolder(arguments.site, write_file)
    listed = _list(config, arguments.ref)
    include = Include(arguments.tools, arguments.thinking)
    # A newer version may know more secrets.
    options = f"{_FORMAT} {__version__} {include} {context.shows_secrets(arguments.no_redact)}"
    keys = [
        sha256(options.encode() + one.row.manifest + encode(one.row.session)).hexdigest()
        for one in listed
    ]
    # Pages of unchanged sessions are kept, and the sessions are not read. The search numbers its
    # turns from the newest one, so any change renumbers all of them, and it is rebuilt.
    search_key = sha256("".join(keys).encode()).hexdigest()
    search = None if folder.keep_below("search", search_key) else SearchData()
    seen: set[ObjectId] = set()
    bar = shared_bar() if context.is_error_terminal else None

    def read(sha256: str) -> bytes | None:
        return read_blob(config, f"@{sha256}")

    for done, (one, key) in enumerate(zip(listed, keys, strict=True)):
        if bar is not None:
            bar.count(done, len(listed), f"{done:,}/{len(listed):,} sessions")
        name = session_page(one.row.session.id)
        is_kept = folder.keep(name, key)
        if is_kept and search is None:
            continue
        conversation = show_range(config, one.row.session.id)
        if search is not None:
            _add_words(search, conversation, seen)
        if not is_kept:
            page = html_lines([conversation], include, read, home="../index.html")
            folder.write(name, key, "\n".join(page))
    if bar is not None:
        bar.close()
    _write_lists(folder, listed)
    for name, text in search.files() if search is not None else ():
        folder.write(name, search_key, text)
    deleted = folder.close()
    counts = f"{pluralize(folder.written, 'file')} written, {deleted} deleted"
    context.warn(f"{pluralize(len(listed), 'session')}: {counts}")
    return 0


def _write_lists(folder: SiteFolder, listed: list[ListedSession]) -> None:
    for name, text in site_pages([one.row.session for one in listed]):
        key = sha256(text.encode()).hexdigest()
        if not folder.keep(name, key):
            folder.write(name, key, text)


def _list(config: Config, refs: list[str]) -> list[ListedSession]:
    """Return the named sessions, or all but documents, the newest first."""
    ids = find_sessions(config, refs) if refs else None
    listed = list_sessions(config, Filters(documents="exclude"))
    return [one for one in listed if ids is None or one.row.session.id in ids]


def _add_words(search: SearchData, conversation: Conversation, seen: set[ObjectId]) -> None:
    """Add the turns that no newer session has."""
    session = conversation.session
    assert session is not None
    day = local_time(session.ended).partition(" ")[0] if session.ended else ""
    search.add_session(session.id, session.title, session.project, day)
    for placed in conversation.turns:
        if placed.turn is not None and placed.entry.turn not in seen:
            seen.add(placed.entry.turn)
            texts = [placed.turn.prompt, *placed.turn.assistant_texts()]
            search.add_turn(placed.number, texts)
