"""What the next search compares the source files with: a note of what this run saw of them.

    seen    "ccgrep seen 5 <HEAD>", "root <path>" for each root and "exclude <pattern>" for what is
            not taken in; an empty line,
            "<mtime_ns> <path>" for each folder (-1: it was not there); an empty line,
            "<path>" for each transcript; an empty line,
            mtime_ns, size and inode of each transcript as 8 bytes, as this machine orders them;
            and a checksum

`?`, or all bits of the 8 bytes, stands for a time within two seconds of the look: such a file or
folder can change without its stat saying so, and counts as changed. A folder that was not changed
has the files that it had, so nothing is listed. The newest transcripts come first: what changes is
mostly what was changed last. What only recovers lost sessions is not looked at: a run that reads
anything new takes that in, and `ccgrep index` looks at it. Derived: without it, or when it is
wrong, a search looks for itself. `look` reads it.
"""

import os
import sys

from ccgrep.refresh.look import NUMBERS_BYTES, VERSION, parsed
from ccgrep.sources.scan import FoundFile, Scan, is_racy
from ccgrep.store.checksummed_file import add_checksum, read_checksummed

_NEVER = 2**64 - 1  # no file's time


def description(head: str, where: bytes, scan: Scan, scanned_ns: int) -> bytes | None:
    """What `seen` is to hold after a run that took in everything that `scan` saw."""
    if scan.troubles or any("\n" in path for path in (*scan.files, *scan.folders)):
        return None
    files = [file for file in scan.files.values() if file.kind == "session"]
    files.sort(key=lambda file: file.mtime_ns, reverse=True)
    folders = [
        f"{'?' if is_racy(time, scanned_ns) else time} {path}"
        for path, time in scan.folders.items()
    ]
    return _described(
        head,
        where,
        os.fsencode("\n".join(folders)),
        b"\n".join(os.fsencode(file.path) for file in files),
        b"".join(_numbers(file, scanned_ns) for file in files),
    )


def described_anew(store_dir: str, head: str, scan: Scan, scanned_ns: int) -> bytes | None:
    """`seen` after a run that took in the few files of `scan`; nothing if it is damaged."""
    try:
        seen = parsed(read_checksummed(os.path.join(store_dir, "seen")))
    except ValueError:
        return None
    # As bytes: to take thousands of lines apart would take ten times as long.
    lines, numbers = b"\n%b\n" % bytes(seen.names) if seen.names else b"\n", bytes(seen.numbers)
    for path, file in scan.files.items():
        line = b"\n" + os.fsencode(path)
        at = lines.find(line + b"\n")
        if at >= 0:
            before = lines.count(b"\n", 0, at) * NUMBERS_BYTES
            lines = lines[:at] + lines[at + len(line) :]
            numbers = numbers[:before] + numbers[before + NUMBERS_BYTES :]
        lines = line + lines
        numbers = _numbers(file, scanned_ns) + numbers
    return _described(head, seen.where, bytes(seen.folders), lines[1:-1], numbers)


def _described(head: str, where: bytes, folders: bytes, names: bytes, numbers: bytes) -> bytes:
    start = b"\n".join((f"{VERSION} {head}".encode(), where))
    return add_checksum(b"\n\n".join((start, folders, names, numbers)))


def _numbers(file: FoundFile, scanned_ns: int) -> bytes:
    is_settled = file.mtime_ns >= 0 and not is_racy(file.mtime_ns, scanned_ns)
    numbers = (file.mtime_ns if is_settled else _NEVER, file.size, file.inode)
    return b"".join(number.to_bytes(8, sys.byteorder) for number in numbers)
