"""A task for `worker_pool` that repeats its text, or ends its process."""

import os

import msgspec

from ccgrep.worker_pool import Send


def run_task(data: bytes, send: Send) -> None:
    text = msgspec.msgpack.decode(data, type=str)
    send(text)
    if text == "die":
        os._exit(1)
    send(text.upper())
