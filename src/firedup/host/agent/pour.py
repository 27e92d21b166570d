"""Runs a program that prints a log, such as `docker logs -f`, and streams what it prints."""

import os
import signal

from firedup.host.agent.stream import Stream
from firedup.host.agent.system import AgentError, boottime_ns
from firedup.host.agent.wire import DATA, DATA_HEADER, DATA_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WORDS_LIMIT = 8192


class Pour(Stream):
    """pour {argv, merges?}: what the program prints as DATA, until it ends or the request does.

    With `merges` its standard error is part of that, in order. Nothing is run by a shell. While
    the client gives no credit the program waits at its full pipe. Result: {code, signal, words},
    `words` being the beginning of an unmerged standard error. Error "not-found" or "denied" when
    there is no such program.
    """

    touches_files = False
    has_input = False

    def open(self) -> None:
        """Starts the program in a session of its own, so that all of it can be ended."""
        import subprocess

        argv = self.args["argv"]
        if not argv or not all(isinstance(word, str) for word in argv):
            raise AgentError("bad-request", "argv must be a list of at least one string")
        self.offset = 0
        self.out, write = os.pipe()
        self.err, complain = os.pipe()
        merges = bool(self.args.get("merges"))
        for file in (self.out, self.err, complain):
            os.set_blocking(file, False)  # complaints beyond the pipe's size are dropped
        self.process = None  # type: subprocess.Popen[bytes] | None
        try:
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE if self.has_input else subprocess.DEVNULL,
                stdout=write,
                stderr=write if merges else complain,
                cwd=os.path.expanduser("~") if os.path.isdir(os.path.expanduser("~")) else "/",
                start_new_session=True,
            )
        except BaseException:
            os.close(self.out)
            os.close(self.err)
            raise
        finally:
            os.close(write)
            os.close(complain)
        self.loop.watch(self.out, self._on_data)

    def _on_data(self) -> None:
        self.loop.unwatch(self.out)  # until what there is has been taken: no credit, no look
        self.is_ready = True

    def produce(self, room: int) -> "tuple[int, bytes] | None":
        """What the program has printed, or its end."""
        assert self.process is not None  # noqa: S101 - open() has started it
        try:
            data = os.read(self.out, min(room, DATA_LIMIT))
        except BlockingIOError:
            self.loop.watch(self.out, self._on_data)
            return None
        if data:
            header = DATA_HEADER.pack(boottime_ns(), 0, self.offset)
            self.offset += len(data)
            return DATA, header + data
        return self._end_of(self.process)

    def _end_of(self, process: "Any") -> "tuple[int, bytes] | None":
        import subprocess
        import time

        try:
            status = process.wait(0)
        except subprocess.TimeoutExpired:  # it closed its output and will end in a moment
            self.due = time.monotonic() + 0.01
            return None
        try:
            words = os.read(self.err, _WORDS_LIMIT)
        except BlockingIOError:
            words = b""
        return self.end(
            {
                "code": status if status >= 0 else None,
                "signal": -status if status < 0 else None,
                "words": words.decode("utf-8", "replace"),
            }
        )

    def close(self) -> None:
        """Ends the program, where it has not ended."""
        self.loop.unwatch(self.out)
        os.close(self.out)
        os.close(self.err)
        if self.process is not None and self.process.poll() is None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except OSError:
                pass
            self.process.wait()
