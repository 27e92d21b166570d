"""One HTTP request from the host itself, with an API key that never leaves the host."""

import time

from firedup.host.agent.key import find_key
from firedup.host.agent.system import AgentError, boottime_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BODY_LIMIT = 16 * 1024 * 1024


def op_http(args: "dict[str, Any]", work: "Any") -> "tuple[dict[str, Any], bytes]":
    """http {method?, host, port, path, tls?, headers?, body?, limit_s, max_bytes?, key_from?}.

    Never follows a redirect, never uses a proxy. `limit_s` is for the whole exchange. `tls`
    takes any certificate, for the server is on this host. DATA: the body; result: {status,
    reason, headers, seconds, first_byte_s, is_cut, has_key, at_ns}.
    """
    import http.client

    address, port = args["host"], int(args["port"])
    timeout_s = float(args["limit_s"])
    headers = {str(k): str(v) for k, v in (args.get("headers") or {}).items()}
    key = find_key(args["key_from"]) if args.get("key_from") else None
    if key is not None:
        headers["Authorization"] = "Bearer " + key
    begin = time.monotonic()
    if args.get("tls"):
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        link = http.client.HTTPSConnection(address, port, timeout=timeout_s, context=context)  # type: http.client.HTTPConnection
    else:
        link = http.client.HTTPConnection(address, port, timeout=timeout_s)
    work.on_cancel = lambda: _cut(link)
    body = args.get("body")
    try:
        link.connect()
        if work.is_closed:  # cancelled before there was anything to cut
            raise AgentError("cancelled", "cancelled by the client")
        link.request(
            args.get("method", "GET"),
            args["path"],
            body=None if body is None else body.encode("utf-8"),
            headers=headers,
        )
        answer = link.getresponse()
        first_byte_s = time.monotonic() - begin
        limit = min(int(args.get("max_bytes", 1048576)), _BODY_LIMIT)
        data = _read_until(link, answer, limit, begin + timeout_s)
    except http.client.HTTPException as error:
        raise AgentError("http", "the answer is no HTTP", type(error).__name__) from error
    except OSError as error:
        if work.is_closed:
            raise AgentError("cancelled", "cancelled by the client") from error
        raise _explain(error, address, port, timeout_s) from error
    finally:
        link.close()
    result = {
        "status": answer.status,
        "reason": answer.reason,
        "headers": dict(answer.getheaders()),
        "seconds": time.monotonic() - begin,
        "first_byte_s": first_byte_s,
        "is_cut": len(data) > limit,
        "has_key": key is not None,
        "at_ns": boottime_ns(),
    }
    return result, data[:limit]


def _cut(link: "Any") -> None:
    """Called by the loop: makes the thread's wait end."""
    import socket

    sock = link.sock  # the thread may let go of it at any moment
    if sock is not None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def _read_until(link: "Any", answer: "Any", limit: int, deadline: float) -> bytes:
    """At most one byte more than `limit`; a server that trickles does not keep us."""
    data = b""
    while len(data) <= limit:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer did not end in time")
        if link.sock is not None:
            link.sock.settimeout(left)
        piece = answer.read1(min(65536, limit + 1 - len(data)))
        if not piece:
            break
        data += piece
    return data


def _explain(error: OSError, address: str, port: int, timeout_s: float) -> AgentError:
    where = f"{address} port {port}"
    if isinstance(error, ConnectionRefusedError):
        return AgentError("refused", f"nothing listens at {where}", "ECONNREFUSED")
    if isinstance(error, TimeoutError) or type(error).__name__ == "timeout":
        return AgentError("timeout", f"{where} did not answer within {timeout_s:g} s")
    return AgentError("http", f"the connection to {where} failed", str(error))
