"""Checks on real transcripts that `ccgrep -F` finds words at their turns.

python bench/completeness.py HOME               300 random words of the transcripts below HOME
python bench/completeness.py HOME --words 1000  more words, --seed N others

It parses the JSON lines by itself, without ccgrep's readers, and collects the texts that a person
typed or an agent wrote. For each word it searches with `-F` and compares: every collected text with
the word must be part of a turn that was found. It prints each missing text and exits with 1.
The transcripts are only read, and the store is a temporary one unless `--store` names a directory.
"""

import argparse
import json
import os
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from ccgrep.config import Config, make_config
from ccgrep.model import Turn
from ccgrep.ops.index import index
from ccgrep.ops.search import search
from ccgrep.search.request import Request
from ccgrep.search.searcher import SearchOptions

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{4,20}")
_INJECTED = re.compile(
    r"\s*(<|Caveat:|\[Request interrupted|\[Image|\[SUGGESTION MODE|This session is being continued"
    r"|Unknown s|# AGENTS.md|# Context from my IDE|# Files mentioned|Warmup|Another Claude session"
    r"|Your task is to create a detailed|No response requested|API Error)"
)
"""How texts begin that the client wrote in the user's or the agent's name."""


class Said(NamedTuple):
    """A text in a transcript."""

    path: str
    line: int
    text: str


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("home", type=Path, help="a directory with .claude and .codex")
    parser.add_argument("--words", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", help="a directory to keep the store in, or one that has it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ccgrep-completeness-") as directory:
        config = _index(arguments.home, arguments.store or directory)
        texts = list(_collect_texts(arguments.home))
        words = _choose_words(texts, arguments.words, arguments.seed)
        missing = [said for word in words for said in _find_missing(config, word, texts)]
    for said in missing:
        print(f"missing: {said.path}:{said.line}: {' '.join(said.text.split())[:80]}")
    print(f"{len(words)} words in {len(texts):,} texts, {len(missing)} texts not found")
    sys.exit(1 if missing else 0)


def _index(home: Path, directory: str) -> Config:
    environment = {"HOME": str(home), "CCGREP_DIR": directory, "CCGREP_EMBED": "never"}
    config = make_config(environment)
    index(config)
    return config


def _collect_texts(home: Path) -> Iterator[Said]:
    for top in (".claude/projects", ".codex/sessions", ".codex/archived_sessions"):
        for path in sorted((home / top).rglob("*.jsonl")):
            with path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    for text in _texts_of(line):
                        if text.strip() and not _INJECTED.match(text):
                            yield Said(str(path), number, text)


def _texts_of(line: bytes) -> list[str]:
    """Return the texts of a record that a person typed or an agent wrote."""
    try:
        record = json.loads(line)
    except ValueError:
        return []
    if not isinstance(record, dict) or record.get("isMeta") or record.get("isCompactSummary"):
        return []
    message = record.get("payload") if record.get("type") == "response_item" else None
    if record.get("type") in ("user", "assistant") and not record.get("origin"):
        message = record.get("message")
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        return []
    content = message.get("content")
    blocks: list[Any] = (
        content if isinstance(content, list) else [{"type": "text", "text": content}]
    )
    kinds = ("text", "input_text", "output_text")
    texts = (b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") in kinds)
    # Codex appends citations to one of the two copies of a message.
    return [text.partition("<oai-mem-citation")[0] for text in texts if isinstance(text, str)]


def _choose_words(texts: list[Said], number: int, seed: int) -> list[str]:
    found = sorted({word for said in texts for word in _WORD.findall(said.text)})
    return random.Random(seed).sample(found, min(number, len(found)))


def _find_missing(config: Config, word: str, texts: list[Said]) -> Iterator[Said]:
    result = search(config, Request((word,), "literal", limit=0), SearchOptions())
    found = (result.searcher.turn(hit.place) for hit in result.answer.hits)
    turns = [_all_text(turn) for turn in found if turn is not None]
    for said in texts:
        if word in said.text and not any(_squeeze(said.text) in turn for turn in turns):
            yield said


def _all_text(turn: Turn) -> str:
    return _squeeze("\n".join([turn.prompt, *turn.assistant_texts()]))


def _squeeze(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
