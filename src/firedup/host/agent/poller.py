"""What the agent's loop waits for: file descriptors, other threads, and what is to be sent."""

import collections
import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Container, Iterator


class Poller:
    """Handlers by file descriptor, calls from other threads, and frames that go first."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._handlers = {}  # type: dict[int, tuple[Callable[[], None], int]]
        self._calls = collections.deque()  # type: collections.deque[Callable[[], None]]
        self._control = collections.deque()  # type: collections.deque[bytes]
        self.left_threads = 0  # those that wait for files that do not answer
        self._wake_in, self._wake_out = os.pipe()
        os.set_blocking(self._wake_in, False)
        os.set_blocking(self._wake_out, False)
        self.watch(self._wake_in, self._heed_threads)

    def watch(self, file: int, handler: "Callable[[], None]", events: int = select.POLLIN) -> None:
        """Calls `handler` whenever `file` can be read, or whatever else `events` wait for."""
        self._handlers[file] = (handler, events)
        self._poll.register(file, events)

    def unwatch(self, file: int) -> None:
        """Forgets a file descriptor; call it before closing that."""
        if self._handlers.pop(file, None) is not None:
            self._ignore(file)

    def _ignore(self, file: int) -> None:
        try:
            self._poll.unregister(file)
        except KeyError:  # its request is suspended
            pass

    def suspend(self, number: int) -> None:
        """Leaves the descriptors of a request alone, until `resume`."""
        for file, (handler, _) in list(self._handlers.items()):
            if _request_of(handler) == number:
                self._ignore(file)

    def resume(self, number: int) -> None:
        """Heeds the descriptors of a request again."""
        for file, (handler, events) in list(self._handlers.items()):
            if _request_of(handler) == number:
                self._poll.register(file, events)

    def wait(
        self, patience_ms: "float | None", held: "Container[int]"
    ) -> "Iterator[tuple[int | None, Callable[[], None]]]":
        """Waits; then gives the handlers that are due, each with the number of its request, if any.

        Those of requests that are `held` are not among them.
        """
        for file, _ in self._poll.poll(patience_ms):
            handler, _ = self._handlers.get(file, (None, 0))
            if handler is None:  # one before has let go of it
                continue
            number = _request_of(handler)
            if number in held:
                self._ignore(file)
            else:
                yield number, handler

    def send(self, frames: bytes) -> None:
        """Queues control frames, which go before all streams."""
        self._control.append(frames)

    def call(self, work: "Callable[[], None]") -> None:
        """Has the loop call `work`: what other threads may use."""
        self._calls.append(work)
        try:
            os.write(self._wake_out, b"x")
        except OSError:  # the pipe is full, so the loop will look anyway
            pass

    def _heed_threads(self) -> None:
        os.read(self._wake_in, 4096)
        self._run_calls()

    def _run_calls(self) -> None:
        while self._calls:
            self._calls.popleft()()


def _request_of(handler: "Callable[[], None]") -> "int | None":
    """The request that a handler works for: its object says so."""
    number = getattr(getattr(handler, "__self__", None), "number", None)
    return number if isinstance(number, int) else None
