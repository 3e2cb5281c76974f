"""Ordinary turns contain no secrets, so redaction may change almost none of them."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from ccgrep import secrets
from ccgrep.config import make_config
from ccgrep.fulltext.document import field_text, turn_text
from ccgrep.kinds import TextKind
from ccgrep.model import Turn
from ccgrep.ops import index
from ccgrep.store.lifecycle import open_store
from tests.helpers import scale

ROOT = Path(__file__).parents[1]
MAX_SHARE = 0.005
KINDS: tuple[TextKind, ...] = ("user", "assistant", "tool", "thinking")


def turns_of(claude: Path, codex: Path, store: Path) -> Iterator[Turn]:
    variables = {"CLAUDE_CONFIG_DIR": str(claude), "CODEX_HOME": str(codex)}
    config = make_config({"HOME": str(store), "CCGREP_DIR": str(store), **variables})
    index.index(config)
    opened = open_store(config.store_dir)
    for row in opened.rows():
        for entry in opened.manifest(row).entries:
            yield opened.load(entry.turn, Turn)


def is_altered(turn: Turn) -> bool:
    texts = [*(turn_text(turn, kind) for kind in KINDS), field_text(turn, "note")]
    return any(map(secrets.find, texts))


def chunks(pattern: str) -> Iterator[str]:
    """Yield files in chunks of the size of a turn."""
    for path in sorted(ROOT.glob(pattern)):
        text = path.read_text(encoding="utf-8")
        yield from (text[at : at + 4000] for at in range(0, len(text), 4000))


def test_ordinary_turns_stay_unchanged(tmp_path: Path, figure: Callable[[str], None]) -> None:
    generated = tmp_path / "generated"
    size = str(scale.of(2_000_000, 20_000_000))
    command = [sys.executable, str(ROOT / "bench" / "generate.py"), str(generated), "--bytes", size]
    subprocess.run([*command, "--files", "50"], check=True, capture_output=True)
    example = ROOT / "examples" / "home"
    results = {
        "example": [
            is_altered(turn)
            for turn in turns_of(example / ".claude", example / ".codex", tmp_path / "a")
        ],
        "generated": [
            is_altered(turn)
            for turn in turns_of(generated / ".claude", generated / ".codex", tmp_path / "b")
        ],
        "source": [bool(secrets.find(text)) for text in chunks("src/**/*.py")],
        "tests": [bool(secrets.find(text)) for text in chunks("tests/**/*.py")],
        "documents": [bool(secrets.find(text)) for text in chunks("**/*.md")],
    }
    for name, altered in results.items():
        assert altered, name
        assert sum(altered) <= MAX_SHARE * len(altered), name
    counts = ", ".join(
        f"{sum(altered)} of {len(altered)} {name}" for name, altered in results.items()
    )
    figure(f"secrets: ordinary texts changed: {counts}")
