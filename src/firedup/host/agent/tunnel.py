"""One TCP connection from the host, carried over the link: what comes in goes out, both ways."""

import select
import socket
import struct

from firedup.host.agent.poller import Poller
from firedup.host.agent.stream import Stream
from firedup.host.agent.system import AgentError
from firedup.host.agent.wire import CREDIT, DATA, DATA_HEADER, encode_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TUNNEL_WINDOW = 262144  # bytes of input that may wait here for a server that is slow to read
_CONNECT_S = 10.0
_GRANT = struct.Struct(">I")


class Tunnel(Stream):
    """tunnel {address, port}: a connection to a server; INPUT goes to it, DATA comes from it.

    EVENT {state}: "connected", and "ended" when the server sends no more. Empty INPUT is the end
    of the client's side. Ends when both sides have ended: {sent, received}. CREDIT frames tell
    the client how much input more it may send, after the first 262,144 bytes.
    """

    touches_files = False

    def __init__(self, loop: Poller, number: int, args: "dict[str, Any]") -> None:
        self.sock = None  # type: Any
        self.fault = None  # type: OSError | None
        self.is_closed = False
        self.has_told = False
        self.waiting = bytearray()  # input that the server has not taken yet
        self.has_input_ended = False
        self.is_deaf = False  # the server takes no more input
        self.has_output_ended = False
        self.has_told_end = False
        self.sent = 0
        self.received = 0
        super().__init__(loop, number, args)

    def open(self) -> None:
        """Begins to connect, in a thread: to look a name up may take long."""
        import threading

        self.place = (self.args["address"], int(self.args["port"]))
        self.is_ready = False
        threading.Thread(target=self._connect, daemon=True).start()

    def _connect(self) -> None:
        sock = fault = None
        try:
            sock = socket.create_connection(self.place, _CONNECT_S)
        except OSError as error:
            fault = error
        except (ValueError, OverflowError) as error:  # no name, no port
            fault = OSError(0, str(error))
        self.loop.call(lambda: self._begin(sock, fault))

    def _begin(self, sock: "Any", fault: "OSError | None") -> None:
        """The thread has a connection, or knows why there is none."""
        if self.is_closed:
            if sock is not None:
                sock.close()
            return
        self.sock, self.fault, self.is_ready = sock, fault, True
        if sock is not None:
            sock.settimeout(0)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._pass_on()
            self._wait()

    def take(self, data: bytes) -> None:
        """Input from the client, or its end."""
        if self.is_deaf:
            return
        if self.has_input_ended:
            raise AgentError("bad-request", "input after its end")
        if len(self.waiting) + len(data) > _TUNNEL_WINDOW:
            raise AgentError("bad-request", "more input than there was credit for")
        if not data:
            self.has_input_ended = True
        self.waiting += data
        if self.sock is not None:
            self._pass_on()
            self._wait()

    def produce(self, room: int) -> "tuple[int, bytes] | None":
        """What came of the connection, then what came from the server, then the end."""
        if self.fault is not None:
            raise self._explain(self.fault)
        if self.sock is None:
            return None
        if not self.has_told:
            self.has_told = True
            return self.event({"state": "connected"})
        if not self.has_output_ended:
            try:
                data = self.sock.recv(room)
            except BlockingIOError:
                self.is_ready = False
                self._wait()
                return None
            self.received += len(data)
            if data:
                return DATA, DATA_HEADER.pack(0, 0, self.received - len(data)) + data
            self.has_output_ended = True
        if not self.has_told_end:
            self.has_told_end = True
            return self.event({"state": "ended"})
        if self.is_deaf or (self.has_input_ended and not self.waiting):
            return self.end({"sent": self.sent, "received": self.received})
        self.is_ready = False
        self._wait()
        return None

    def close(self) -> None:
        """Closes the connection."""
        self.is_closed = True
        if self.sock is not None:
            self.loop.unwatch(self.sock.fileno())
            self.sock.close()
            self.sock = None

    def _explain(self, error: OSError) -> AgentError:
        import errno
        import os

        where = "{} port {}".format(*self.place)
        name = errno.errorcode.get(error.errno or 0, "an error")
        if isinstance(error, socket.timeout):
            return AgentError("timeout", where + " did not answer")
        if error.errno == errno.ECONNREFUSED:
            return AgentError("refused", "nothing listens at " + where, name)
        is_known = error.errno in errno.errorcode  # the faults of a name's look-up are not
        why = os.strerror(error.errno or 0) if is_known else error.strerror or str(error)
        return AgentError("os-error", "no connection to " + where + ": " + why, name)

    def _pass_on(self) -> None:
        """Gives waiting input to the server, as much as it takes, and the client new credit."""
        taken = 0
        while self.waiting:
            try:
                count = self.sock.send(bytes(self.waiting[:65536]))
            except BlockingIOError:
                break
            except OSError:  # what the server has said before is still read
                self.is_deaf = True
                self.waiting.clear()
                self.is_ready = True
                break
            del self.waiting[:count]
            taken += count
        self.sent += taken
        if taken:
            self.loop.send(encode_frame(CREDIT, self.number, _GRANT.pack(taken)))
        if self.has_input_ended and not self.waiting and not self.is_deaf:
            try:
                self.sock.shutdown(socket.SHUT_WR)
            except OSError:  # the server has gone already, which reading will tell
                pass
            self.is_ready = True

    def _wait(self) -> None:
        """Waits for what can go on next; a side that is to be left alone is not looked at."""
        events = select.POLLOUT if self.waiting else 0
        if not self.is_ready and not self.has_output_ended:
            events |= select.POLLIN
        if events:
            self.loop.watch(self.sock.fileno(), self._wake, events)
        else:
            self.loop.unwatch(self.sock.fileno())

    def _wake(self) -> None:
        """The connection can be read or written, or is broken, which either of them will tell."""
        if self.waiting:
            self._pass_on()
        self.is_ready = True
        self._wait()
