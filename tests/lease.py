"""Files that the kernel lets nobody open until a test allows it."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def leased(path: Path) -> Iterator[Callable[[], bool]]:
    """Whoever opens or executes the file waits in the kernel meanwhile, up to 45 s.

    Gives a function that tells whether somebody does.
    """
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)  # it comes with the first who waits
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        yield lambda: fcntl.fcntl(file, fcntl.F_GETLEASE) != fcntl.F_WRLCK
    finally:
        os.close(file)  # the lease goes with it
        signal.signal(signal.SIGIO, before)
