"""Text of stacks (py-spy, Python's faulthandler, the kernel) → threads and their frames."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from firedup.core.stack import KERNEL, Frame

# More than any server has; what is beyond is left to the text itself.
MOST_THREADS = 512
MOST_DEEP = 400
_MOST_LETTERS = 160  # of a function or a file

_PROCESS = re.compile(r"Process (\d+)(?::|$)")
_SPIED = re.compile(r'Thread (0x[0-9A-Fa-f]+|\d+)(?: \(([a-z+]*)\))?(?:: "(.*)")?\s*$')
_FAULT = re.compile(
    r"(?:Current thread|Thread) (0x[0-9A-Fa-f]+)(?: \[(.*)\])? \(most recent call first\):"
)
_C_STACK = re.compile(r"(?:Current thread's )?C stack trace \(most recent call first\):")
_CALL = re.compile(r" {4}(\S+) \((.+?)(?::(\d+))?\)\s*$")
_NATIVE_CALL = re.compile(r" {4}(\S.*) \(([^()]*?)(?::(\d+))?\)\s*$")
_FAULT_CALL = re.compile(r'\s+File "(.*)", line (\d+|\?\?\?) in (.*?)\s*$')
_KERNEL_CALL = re.compile(r"\s*\[<[0-9A-Fa-fx]+>\] ([\w.]+)(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?")
# How the agent tells threads by what the kernel shows: those alike together, the main one first.
_TASK = re.compile(r"threads? ((?:\d+ ?)+)(?:and \d+ more )?\((.*)\): state (\w)(?:, in ([\w.]+))?")
_ADDRESS = re.compile(r"0x[0-9A-Fa-f]+$")
_PACKAGE = re.compile(r"^.*/(?:site-packages|dist-packages|lib/python\d[\d.]*)/(?=.)")
_MAIN = "MainThread"


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread of a process; `frames` begin with the innermost.

    `is_active` says whether it runs (True) or waits (False), None where the text does not tell.
    """

    name: str = ""
    ident: str = ""
    frames: tuple[Frame, ...] = ()
    is_main: bool = False
    is_active: bool | None = None


class _Reading:
    """The threads of a text as far as it was read."""

    def __init__(self) -> None:
        self.threads: list[Thread] = []
        self._head: Thread | None = None
        self._frames: list[Frame] = []
        self._channel = ""

    def begin(self, head: Thread | None) -> None:
        """What follows belongs to `head`, or to nothing."""
        if self._channel and not self._frames:
            self._frames.append(Frame(self._channel[:_MOST_LETTERS], KERNEL))
        self._channel = ""
        if self._head is not None and len(self.threads) < MOST_THREADS:
            self.threads.append(replace(self._head, frames=tuple(self._frames)))
        self._head, self._frames = head, []

    def begin_task(self, name: str, idents: str, state: str, channel: str) -> None:
        """A thread as the kernel tells it; its channel stands for a stack that is not told."""
        self.begin(Thread(name, idents.split(maxsplit=1)[0], is_active=state == "R"))
        self._channel = channel

    def add(self, function: str, file: str, line: str | None) -> None:
        """The next call outwards of the thread that was begun."""
        if self._head is None or len(self._frames) >= MOST_DEEP or _ADDRESS.match(function):
            return
        number = int(line) if line is not None and line.isascii() and line.isdigit() else None
        self._frames.append(Frame(function[:_MOST_LETTERS], _shorten(file), number))

    @property
    def is_begun(self) -> bool:
        """Whether calls belong to anything."""
        return self._head is not None


def parse_stack(text: str) -> tuple[Thread, ...]:
    """The threads that `text` shows, in its order, one of them marked as main.

    Whatever is no stack is passed over, addresses without a name too; no text is an error.
    """
    reading, pid = _Reading(), ""
    is_faulthandler = False
    for line in text.splitlines():
        if found := _FAULT.match(line):
            is_faulthandler = True
            reading.begin(Thread(found[2] or "", found[1]))
        elif found := _SPIED.match(line):
            state = found[2] or ""
            active = None if not state else "active" in state
            reading.begin(Thread(found[3] or "", found[1], is_active=active))
        elif found := _PROCESS.match(line):
            pid = found[1]
            reading.begin(None)
        elif found := _TASK.match(line):
            reading.begin_task(found[2], found[1], found[3], found[4] or "")
        elif _C_STACK.match(line):
            reading.begin(None)
        elif found := _FAULT_CALL.match(line):
            reading.add(found[3], found[1], found[2])
        elif found := _KERNEL_CALL.match(line):
            if not reading.is_begun:
                reading.begin(Thread())
            reading.add(found[1], KERNEL, None)
        elif found := _CALL.match(line) or _NATIVE_CALL.match(line):
            reading.add(found[1], found[2], found[3])
    reading.begin(None)
    return _mark_main(tuple(reading.threads), pid, is_faulthandler=is_faulthandler)


def main_thread(threads: tuple[Thread, ...]) -> Thread | None:
    """The main thread, else the first one of which anything was seen."""
    seen = [thread for thread in threads if thread.frames]
    return next((thread for thread in seen if thread.is_main), seen[0] if seen else None)


def _mark_main(
    threads: tuple[Thread, ...], pid: str, *, is_faulthandler: bool
) -> tuple[Thread, ...]:
    """By its name or number; faulthandler begins with the newest thread, so the main one is last.

    A thread's name is the program's to choose, so that only the first of that name is believed.
    """
    places = [n for n, thread in enumerate(threads) if thread.name == _MAIN]
    places += [n for n, thread in enumerate(threads) if pid and thread.ident == pid]
    if not places and is_faulthandler and threads:
        places = [len(threads) - 1]
    return tuple(
        replace(thread, is_main=True) if places and number == places[0] else thread
        for number, thread in enumerate(threads)
    )


def _shorten(file: str) -> str:
    """The path without the folder that packages or the standard library lie in."""
    return _PACKAGE.sub("", file)[-_MOST_LETTERS:]
