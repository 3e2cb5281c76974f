"""The search data of a site: scripts that a page loads when it needs them, even from a disk.

    search/sessions.js    ccgrepSessions([[id, title, project, day], …])
    search/turns.js       ccgrepTurns([[session, turn, beginning of the text], …])
    search/<group>.js     ccgrepWords({word: [turn, distance to the next one, …], …})

The first two characters of a word decide its group, so one file has all words with a beginning.
A word is a run of letters and digits in lower case. Chinese, Japanese and Korean are split into
pairs. `site.js` does the same with what a user types.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from ccgrep.output.json_document import encode
from ccgrep.text import clip, json_escape, one_line, redact

_RUN = re.compile(r"[^\W_]+")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_EXCERPT_COLUMNS = 160
_MAX_EXCERPT_CHARS = 1000
_MAX_WORD_CHARS = 40
_GROUPS = 128


class SearchData:
    """The words of the turns that were added. Text must be redacted before."""

    def __init__(self) -> None:
        self._sessions: list[Sequence[str]] = []
        self._turns: list[tuple[int, int, str]] = []
        self._words: defaultdict[str, list[int]] = defaultdict(list)

    def add_session(self, id: str, title: str, project: str, day: str) -> None:
        self._sessions.append((id, one_line(title), one_line(project), day))

    def add_turn(self, number: int, texts: Sequence[str]) -> None:
        """Add a turn of the session that was added last: its prompt, then the answers."""
        redacted = redact("\n".join(texts))
        for word in sorted(set(split_words(redacted))):
            self._words[word].append(len(self._turns))
        self._turns.append((len(self._sessions) - 1, number, _excerpt(texts)))

    def files(self) -> Iterator[tuple[str, str]]:
        """Yield the names and the contents of the files."""
        yield "search/sessions.js", _call("ccgrepSessions", self._sessions)
        yield "search/turns.js", _call("ccgrepTurns", self._turns)
        groups: defaultdict[int, dict[str, list[int]]] = defaultdict(dict)
        for word, turns in sorted(self._words.items()):
            distances = [turns[0], *(b - a for a, b in pairwise(turns))]
            groups[_group(word)][word] = distances
        for group, words in groups.items():
            yield f"search/{group}.js", _call("ccgrepWords", words)


def _excerpt(texts: Iterable[str]) -> str:
    """Return the beginning of the texts. It reads no more of them than it needs."""
    excerpt = ""
    for text in texts:
        part = one_line(redact(text)[:_MAX_EXCERPT_CHARS]).strip()
        excerpt = " — ".join(filter(None, (excerpt, part)))
        if len(excerpt) > _EXCERPT_COLUMNS:
            break
    return clip(excerpt, _EXCERPT_COLUMNS)


def split_words(text: str) -> Iterator[str]:
    for run in _RUN.findall(text.lower()):
        if not _CJK.search(run):
            yield run[:_MAX_WORD_CHARS]
        elif len(run) == 1:
            yield run
        else:
            yield from (run[at : at + 2] for at in range(len(run) - 1))


def _group(word: str) -> int:
    first, second = (*map(ord, word[:2]), 0)[:2]
    return (first * 31 + second) % _GROUPS


def _call(name: str, value: Iterable[Any]) -> str:
    return f"{name}({json_escape(encode(value))});\n"
