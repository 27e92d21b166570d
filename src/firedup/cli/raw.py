"""Writes the bytes of a log to standard output, made safe where that is a terminal."""

from __future__ import annotations

import asyncio
import codecs
import select
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TextIO

from firedup.view.redact import printable_block, redact

MOST_HELD = 64 * 1024
_SEEN_AFTER = 1024  # so much is read before it is decided that a word stands by itself
_MOST_TRIES = 8
_LOOK_S = 0.5  # where the system has no way to tell by itself


@contextmanager
def open_raw(stream: TextIO) -> Iterator[Callable[[bytes], None]]:
    """What writes to `stream`: bytes as they are, or lines of safe text on a terminal."""
    if stream.isatty():
        lines = _Lines(stream)
        yield lines.write
        lines.close()
        return

    def write(data: bytes) -> None:
        stream.buffer.write(data)
        stream.buffer.flush()

    yield write


async def write_while_read(stream: TextIO, work: Coroutine[None, None, None]) -> None:
    """Run `work`, which writes to `stream`, to its end or until nobody can read that any more.

    Raises BrokenPipeError at once when the reader of a pipe has gone, also while there is nothing
    to write.
    """
    tasks = (asyncio.ensure_future(work), asyncio.ensure_future(_wait_unread(stream)))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not tasks[0].done():
            raise BrokenPipeError
        tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _wait_unread(stream: TextIO) -> None:
    """Never returns for a file or a terminal."""
    if hasattr(select, "epoll"):
        gone = asyncio.Event()
        with select.epoll() as watcher:
            try:
                watcher.register(stream.fileno(), 0)  # errors are told without being asked for
            except (OSError, ValueError):
                await gone.wait()
            loop = asyncio.get_running_loop()
            loop.add_reader(watcher.fileno(), gone.set)
            try:
                await gone.wait()
            finally:
                loop.remove_reader(watcher.fileno())
        return
    look = select.poll()
    look.register(stream.fileno(), 0)
    while not look.poll(0):  # noqa: ASYNC110 - the system sets no event
        await asyncio.sleep(_LOOK_S)


class _Lines:
    """Holds back what may be the beginning of a secret, a letter or a control sequence.

    A line without end is printed in parts once it is longer than `MOST_HELD` letters.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: list[str] = []
        self._held = 0
        self._return = ""  # one at the end of what has come may be half a line end

    def write(self, data: bytes) -> None:
        text = self._return + self._decoder.decode(data)
        self._return = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r")
        end = max(text.rfind("\n"), text.rfind("\r")) + 1
        if end:
            self._print("".join((*self._parts, text[:end])))
            self._hold(text[end:])
        else:
            self._parts.append(text)
            self._held += len(text)
        if self._held > MOST_HELD:
            held = "".join(self._parts)
            end = _find_cut(held)
            self._print(held[:end])
            self._hold(held[end:])

    def close(self) -> None:
        if rest := "".join((*self._parts, self._return)):
            self._print(f"{rest}\n")

    def _hold(self, text: str) -> None:
        self._parts, self._held = [text], len(text)

    def _print(self, text: str) -> None:
        """The states of a bar stand in lines of their own."""
        self._stream.write(_make_safe(text.replace("\r\n", "\n").replace("\r", "\n")))
        self._stream.flush()


def _find_cut(text: str) -> int:
    """Where a part of a line may end: between words, and not between a name and its secret."""
    safe = _make_safe(text)
    end = len(text) - _SEEN_AFTER
    for _ in range(_MOST_TRIES):
        end = text.rfind(" ", 0, end)
        if end <= 0:
            break
        if _make_safe(text[:end]) + _make_safe(text[end:]) == safe:
            return end
    return len(text) - _SEEN_AFTER


def _make_safe(text: str) -> str:
    return redact(printable_block(text))
