"""A way to a TCP port that can be cut, stalled and healed; it runs in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable


class Proxy:
    """Listens on `port` of the loopback and passes everything on to `target`."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._flows = _open_gate()
        self.connections = 0
        self.bytes = 0
        self.port = 0
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def cut(self) -> None:
        """Break all connections and refuse new ones."""
        self._do(self._cut)

    def stall(self) -> None:
        """Let no byte through; connections stay, and new ones are taken and left silent."""
        self._do(self._stop_flow)

    def stall_present(self) -> None:
        """Let no byte through on the connections of now; later ones are not touched."""
        self._do(self._renew_flow)

    def heal(self) -> None:
        """Let everything through again. What was held back by a stall goes on its way."""
        self._do(self._let_flow)
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def close(self) -> None:
        """Break all connections and end the thread."""
        self._do(self._cut)
        asyncio.run_coroutine_threadsafe(self._end_tasks(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _stop_flow(self) -> None:
        self._flows.clear()

    def _let_flow(self) -> None:
        self._flows.set()

    def _renew_flow(self) -> None:
        self._flows.clear()
        self._flows = _open_gate()

    def _do(self, act: Callable[[], None]) -> None:
        async def run() -> None:
            act()

        asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    def _cut(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in self._writers:
            writer.transport.abort()

    async def _end_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        ends = {writer}
        self._writers |= ends
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
            ends.add(far_writer)
            self._writers |= ends
            flows = self._flows
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(reader, far_writer, flows))
                group.create_task(self._pump(far_reader, writer, flows))
        except (OSError, ExceptionGroup, asyncio.CancelledError):
            pass  # the connection is over, one way or another
        finally:
            for end in ends:
                end.transport.abort()
                with contextlib.suppress(OSError, asyncio.CancelledError):
                    await end.wait_closed()
            self._writers -= ends
            self._tasks.discard(task)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, flows: asyncio.Event
    ) -> None:
        while data := await reader.read(65536):
            await flows.wait()
            writer.write(data)
            await writer.drain()
            self.bytes += len(data)
        await flows.wait()
        with contextlib.suppress(OSError):
            writer.write_eof()


def _open_gate() -> asyncio.Event:
    gate = asyncio.Event()
    gate.set()
    return gate
