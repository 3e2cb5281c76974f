"""Decompresses a rollout that Codex has compressed, within limits.

A small file can decompress to any size, while real rollouts shrink ten- to twentyfold. A file
that exceeds the limits is not read at all. Measuring it costs one extra decompression, which is
much cheaper than parsing a gigabyte of hostile records.
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
"""Codex writes one frame. Each further frame copies the rest of the buffer."""
_ALWAYS_ALLOWED_BYTES = 64 * 1024 * 1024


class ZstStream:
    """The decompressed content of a file; `problem` says why it ended too early."""

    def __init__(self, file: BinaryIO, compressed_size: int) -> None:
        self._blocks = self._decompress(file)
        self.problem = ""
        left = _ALWAYS_ALLOWED_BYTES + _MAX_RATIO * compressed_size
        for block in self._decompress(file):
            left -= len(block)
            if left < 0:
                self.problem = "decompresses to more than the limit"
                self._blocks = iter(())
                return
        self.problem = ""

    def read(self, size: int, /) -> bytes:
        """Return the next block, of any length, or nothing at the end."""
        del size
        return next(self._blocks, b"")

    def _decompress(self, file: BinaryIO) -> Iterator[bytes]:
        file.seek(0)
        decompressor = _new_decompressor()
        is_in_frame, frames = False, 0
        data = file.read(_BLOCK_BYTES)
        while data or not decompressor.needs_input:
            try:
                block = decompressor.decompress(data, _BLOCK_BYTES)
            except zstd.ZstdError:
                self.problem = "not a zstd file"
                return
            if block:
                yield block
            is_in_frame, data = True, b""
            if decompressor.eof:
                data = decompressor.unused_data
                decompressor, is_in_frame = _new_decompressor(), False
                frames += 1
                if frames > _MAX_FRAMES:
                    self.problem = "too many zstd frames"
                    return
            if not data and decompressor.needs_input:
                data = file.read(_BLOCK_BYTES)
        if is_in_frame:
            self.problem = "compressed file is truncated"


def _new_decompressor() -> zstd.ZstdDecompressor:
    window = int(zstd.DecompressionParameter.window_log_max)
    return zstd.ZstdDecompressor(options={window: _MAX_WINDOW_LOG})
