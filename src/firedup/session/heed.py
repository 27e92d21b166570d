"""Blocking reads that no signal can miss."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO


@contextmanager
def signals_heeded(stream: BinaryIO) -> Iterator[Callable[[], None] | None]:
    """Gives a function that waits until `stream` can be read or a signal came.

    Python runs a signal's handler between two instructions; a signal that arrives after the last
    of them and before the read itself would leave that read waiting for bytes that may never come.
    A signal writes into the wakeup descriptor at once, so waiting for both misses none. Gives None
    outside the main thread, where no handler runs, and for a stream without a descriptor.
    """
    if threading.current_thread() is not threading.main_thread() or not _has_descriptor(stream):
        yield None
        return
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    os.set_blocking(woken, False)
    before = signal.set_wakeup_fd(waker, warn_on_full_buffer=False)

    source = stream.fileno()

    def wait() -> None:
        while True:
            ready, _, _ = select.select([source, woken], [], [])
            if source in ready:
                return
            os.read(woken, 4096)  # the signal's handler has run by now, and did not raise

    try:
        yield wait
    finally:
        signal.set_wakeup_fd(before)
        os.close(woken)
        os.close(waker)


def _has_descriptor(stream: BinaryIO) -> bool:
    try:
        stream.fileno()
    except (OSError, AttributeError):
        return False
    return True
