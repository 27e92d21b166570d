"""Starts this very program again in another mode, and short-lived children of a keeper."""

import json
import os
import signal
import sys

from firedup.host.agent.begin import forget_signals
from firedup.host.agent.boot import BOOT
from firedup.host.agent.system import read_bytes, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

HELPER_NAME = "firedup-helper"  # at most 15 letters: what the kernel keeps of a name


def own_command(words: "list[str]") -> "list[str]":
    """The argv that runs this program with `words`; its text is to be written to stdin."""
    source = globals()["SOURCE"]
    python = sys.executable or "python3"
    return [python, "-I", "-S", "-c", BOOT, "-", str(len(source)), *words]


def start_self(words: "list[str]") -> None:
    """Runs this program with `words` in a session of its own, which outlives the caller."""
    import subprocess

    process = subprocess.Popen(
        own_command(words),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
    assert process.stdin is not None  # noqa: S101 - it is a pipe
    write_all(process.stdin.fileno(), globals()["SOURCE"])
    process.stdin.close()


class Helpers:
    """Children of a keeper that do what may take a while; they are no part of its server.

    By their name, which they have from their first moment, others leave them out too.
    """

    def __init__(self) -> None:
        self.pids = set()  # type: set[int]
        self._waiting = {}  # type: dict[int, tuple[int, Callable[[Any], None] | None]]

    def start(
        self,
        work: "Callable[[], Any]",
        handler: "Callable[[Any], None] | None" = None,
        *,
        limit_s: int = 0,
    ) -> None:
        """Runs `work` in a child; what it returns is given to `handler`, None if it failed.

        After `limit_s` seconds the child is ended; 0 is no limit. OSError when this user may have
        no more processes or files.
        """
        read, write = os.pipe()
        own = _rename(HELPER_NAME)
        try:
            pid = os.fork()
            if pid == 0:
                _run_apart(work, write, limit_s)
        except OSError:
            os.close(read)
            raise
        finally:
            _rename(own)
            os.close(write)
        self.pids.add(pid)
        self._waiting[pid] = (read, handler)

    def take_end(self, pid: int) -> bool:
        """Whether the child `pid`, which has ended, was one of them; hands over its result."""
        if pid not in self.pids:
            return False
        self.pids.remove(pid)
        read, handler = self._waiting.pop(pid)
        data = os.read(read, 65536)  # children write less than a pipe holds
        os.close(read)
        if handler is not None:
            handler(_decode(data))
        return True


def _decode(data: bytes) -> "Any":
    """What a child has returned, None where it was ended before it had said all."""
    try:
        return json.loads(data.decode("ascii"))
    except ValueError:
        return None


def _rename(name: str) -> str:
    """Changes this process's name and returns the one before."""
    before = (read_bytes("/proc/self/comm", 64) or b"").decode("utf-8", "replace").strip()
    try:
        with open("/proc/self/comm", "wb") as file:
            file.write(name.encode("ascii", "replace"))
    except OSError:  # a name is no reason to fail
        pass
    return before


def _run_apart(work: "Callable[[], Any]", write: int, limit_s: int) -> None:
    """In the child. Never returns."""
    status = 1
    try:
        os.setsid()
        forget_signals()
        signal.alarm(limit_s)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # whoever hangs up is an error like others
        write_all(write, json.dumps(work()).encode("ascii"))
        status = 0
    except BaseException:  # noqa: BLE001 - the parent's code must not run twice
        import traceback

        traceback.print_exc()
    os._exit(status)
