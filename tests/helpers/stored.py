"""Small sessions, and the bytes that a store keeps of them."""

from pathlib import Path

from ccgrep.store.objects import unpack_frame
from tests.helpers.homes import Home
from tests.helpers.transcripts import ClaudeFile


def write_session(home: Home, seed: int = 1, turns: int = 3, **fields: str) -> ClaudeFile:
    file = home.claude(seed, **fields)
    for number in range(turns):
        file.turn(f"prompt {seed} {number}", f"answer {seed} {number}")
    file.write()
    return file


def index_sessions(home: Home, sessions: int = 5) -> list[str]:
    files = [write_session(home, seed) for seed in range(1, sessions + 1)]
    home.index()
    return [file.id for file in files]


def pack_files(home: Home) -> list[Path]:
    return sorted((home.store_dir / "objects" / "pack").glob("*.pack"))


def object_bytes(home: Home) -> bytes:
    frames = [unpack_frame(frame) for pack in home.store.packs() for _, frame in pack.scan()]
    return b"".join(frames)
