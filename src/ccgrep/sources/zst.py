"""A rollout that Codex has compressed, as a stream with limits.

A small file can unfold to any size; real rollouts shrink by ten or twenty. What goes
beyond the limits ends the stream, as if the file ended there.
"""

import sys
from typing import BinaryIO

from ccgrep.sources.jsonl import Readable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_MAX_WINDOW_LOG = 27
_MAX_RATIO = 200
_ALWAYS_BYTES = 64 * 1024 * 1024


class _Limited:
    def __init__(self, stream: Readable, max_bytes: int) -> None:
        self._stream = stream
        self._left = max_bytes

    def read(self, size: int, /) -> bytes:
        if self._left <= 0:
            return b""
        try:
            block = self._stream.read(min(size, self._left))
        except (zstd.ZstdError, EOFError):
            return b""
        self._left -= len(block)
        return block


def open_zst(file: BinaryIO, compressed_size: int) -> Readable:
    options = {int(zstd.DecompressionParameter.window_log_max): _MAX_WINDOW_LOG}
    stream = zstd.ZstdFile(file, options=options)
    return _Limited(stream, _ALWAYS_BYTES + _MAX_RATIO * compressed_size)
