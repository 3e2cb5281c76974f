"""Reads many files on all cores: workers parse and compress, the caller stores."""

import time
from collections.abc import Iterator, Sequence

import msgspec

from ccgrep.ingest.archive import PackedOutputs
from ccgrep.ingest.batch import Batch, read_task
from ccgrep.ingest.file_reader import FileResult, Task, failure
from ccgrep.worker_pool import Send, count_cores, run_in_workers

_TASK = msgspec.msgpack.Decoder(Task)
_PACKED_OUTPUTS: PackedOutputs = {}
"""What this worker has stored. It ends with the run."""
_REPLY: msgspec.msgpack.Decoder[Batch | FileResult] = msgspec.msgpack.Decoder(Batch | FileResult)


def read_with_workers(tasks: Sequence[Task], workers: int) -> Iterator[Batch | FileResult]:
    """Read every task's file; a file's batches come before its result."""
    for task, reply in run_in_workers(__name__, tasks, workers):
        yield failure(task, "the reading process died") if reply is None else _REPLY.decode(reply)


def run_task(data: bytes, send: Send) -> None:
    """Read a file in a worker."""
    started = time.process_time()
    result = read_task(_TASK.decode(data), send, _PACKED_OUTPUTS)
    seconds = (time.process_time() - started) / count_cores()
    send(msgspec.structs.replace(result, worker_s=seconds))
