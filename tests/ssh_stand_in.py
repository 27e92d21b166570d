"""An SSH server made of asyncssh, for machines without OpenSSH's: PORT FOLDER.

Like sshd with `ForceCommand FOLDER/login` it runs that program for each session, with pipes, and
only closes them when the connection is lost. SIGUSR1 breaks all connections.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

import asyncssh

CONNECTIONS: set[asyncssh.SSHServerConnection] = set()


class Server(asyncssh.SSHServer):
    """Remembers its connections, so that they can be broken."""

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        CONNECTIONS.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        CONNECTIONS.discard(self._connection)


def abort_all() -> None:
    for connection in tuple(CONNECTIONS):
        connection.abort()


async def pump(source: Any, sink: Any) -> None:
    """Pass all bytes on, and that there are no more; a sink that is gone ends it."""
    try:
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    except (OSError, asyncssh.Error):
        pass
    finally:
        if isinstance(sink, asyncio.StreamWriter):
            sink.close()


async def main(port: int, folder: str) -> None:
    async def run_login(process: asyncssh.SSHServerProcess[bytes]) -> None:
        address = process.get_extra_info("peername")
        environment = {
            "PATH": os.environ["PATH"],
            "SSH_ORIGINAL_COMMAND": process.command or "",
            "SSH_CONNECTION": f"{address[0]} {address[1]} 127.0.0.1 {port}",
        }
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            f"{folder}/login",
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=environment,
            start_new_session=True,
        )
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        inward = asyncio.ensure_future(pump(process.stdin, child.stdin))
        await asyncio.gather(pump(child.stdout, process.stdout), pump(child.stderr, process.stderr))
        status = await child.wait()
        inward.cancel()
        if status < 0:
            process.exit_with_signal(signal.Signals(-status).name.removeprefix("SIG"))
        else:
            process.exit(status)

    await asyncssh.create_server(
        Server,
        "127.0.0.1",
        port,
        server_host_keys=[f"{folder}/host_key"],
        authorized_client_keys=f"{folder}/authorized_keys",
        process_factory=run_login,
        encoding=None,
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, abort_all)
    os.write(1, f"listening on port {port}\n".encode())
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
