"""A rollout that Codex has compressed, as a stream with limits.

A small file can unfold to any size; real rollouts shrink by ten or twenty. One that goes
beyond the limits is not read at all: unfolding alone tells, which is much faster than reading
a gigabyte of records that nobody wrote.
"""

import sys
from collections.abc import Iterator
from typing import BinaryIO

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_BLOCK_BYTES = 1024 * 1024
_MAX_WINDOW_LOG = 27
_MAX_RATIO = 100
_MAX_FRAMES = 1000
"""Codex writes one; behind each of very many little ones the rest is copied."""
_ALWAYS_BYTES = 64 * 1024 * 1024


class ZstStream:
    """Reads what a compressed file unfolds to; `problem` says why it ended too early."""

    def __init__(self, file: BinaryIO, compressed_size: int) -> None:
        self._blocks = self._unfold(file)
        self.problem = ""
        left = _ALWAYS_BYTES + _MAX_RATIO * compressed_size
        for block in self._unfold(file):
            left -= len(block)
            if left < 0:
                self.problem = "unfolds to too much"
                self._blocks = iter(())
                return
        self.problem = ""

    def read(self, size: int, /) -> bytes:
        """The next block, of any length up to `size`; empty at the end."""
        del size
        return next(self._blocks, b"")

    def _unfold(self, file: BinaryIO) -> Iterator[bytes]:
        file.seek(0)
        decompressor = _decompressor()
        is_begun, frames = False, 0
        given = file.read(_BLOCK_BYTES)
        while given or not decompressor.needs_input:
            try:
                block = decompressor.decompress(given, _BLOCK_BYTES)
            except zstd.ZstdError:
                self.problem = "not a zstd file"
                return
            if block:
                yield block
            is_begun, given = True, b""
            if decompressor.eof:
                given = decompressor.unused_data
                decompressor, is_begun = _decompressor(), False
                frames += 1
                if frames > _MAX_FRAMES:
                    self.problem = "has too many frames"
                    return
            if not given and decompressor.needs_input:
                given = file.read(_BLOCK_BYTES)
        if is_begun:
            self.problem = "compressed file is cut short"


def _decompressor() -> zstd.ZstdDecompressor:
    window = int(zstd.DecompressionParameter.window_log_max)
    return zstd.ZstdDecompressor(options={window: _MAX_WINDOW_LOG})
