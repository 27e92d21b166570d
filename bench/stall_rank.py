"""One rank of a made-up server for `./dev bench stall`: does one thing, silently, until it ends."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

_MIB = 1 << 20
_NAME = 15  # prctl PR_SET_NAME


def read_disk(path: str) -> None:
    """Reads the file again and again, some 30 MB/s, from the disk and not from memory."""
    while True:
        file = os.open(path, os.O_RDONLY)
        while os.read(file, _MIB):
            time.sleep(0.03)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def copy_pages(path: str) -> None:
    """Copies the mapped file, which lies in the page cache, again and again: no reads are seen."""
    with Path(path).open("rb") as file:
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    while True:
        for at in range(0, len(pages), _MIB):
            pages[at : at + _MIB]
            time.sleep(0.005)
        pages.madvise(mmap.MADV_DONTNEED)


def sleep(_: str) -> None:
    """Does nothing, as a process that waits for a peer."""
    while True:
        time.sleep(3600)


def spin(_: str) -> None:
    """Burns CPU time, as a rank does that waits in a collective."""
    while True:
        pass


def speak(_: str) -> None:
    """Prints until nobody reads any more."""
    while True:
        os.write(1, bytes(4096))


DOINGS: dict[str, Callable[[str], None]] = {
    "disk": read_disk,
    "cache": copy_pages,
    "asleep": sleep,
    "spin": spin,
    "speak": speak,
}


def main(title: str, doing: str, path: str) -> None:
    """`title` is how the process is called; see DOINGS for the rest."""
    ctypes.CDLL(None).prctl(_NAME, title.encode(), 0, 0, 0)
    DOINGS[doing](path)


if __name__ == "__main__":
    main(*sys.argv[1:4])
