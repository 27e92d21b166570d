"""One HTTP request from the host itself, with an API key that never leaves the host."""

import json
import os
import time

from firedup.host.agent.proc import find_process, read_argv
from firedup.host.agent.system import AgentError, boottime_ns, read_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BODY_LIMIT = 16 * 1024 * 1024


def find_key(source: "dict[str, Any]") -> "str | None":
    """The API key that a server was started with.

    `source`: {pid, start_ticks} of a process or {run} (a run folder) or {file}; with `options`
    (names on its command line) and `env` (names in its environment), tried in this order.
    """
    if source.get("file"):
        return _first_key((read_whole(source["file"]) or b"").decode("utf-8", "replace"))
    if source.get("run"):
        with open(os.path.join(source["run"], "manifest.json"), "rb") as file:
            manifest = json.loads(file.read().decode("utf-8"))
        argv, env = manifest["argv"], manifest.get("env", {})
        pid = None
    else:
        pid = find_process(int(source["pid"]), source.get("start_ticks")).pid
        argv, env = read_argv(pid), {}
    key = _key_of_argv(argv, source.get("options", []))
    if key is None and source.get("env"):
        data = read_whole(f"/proc/{pid}/environ") if pid else None
        for word in (data or b"").split(b"\0"):
            name, _, value = word.partition(b"=")
            env.setdefault(os.fsdecode(name), os.fsdecode(value))
        key = next((env[name] for name in source["env"] if env.get(name)), None)
    return _first_key(key or "", source.get("separator"))


def _key_of_argv(argv: "list[str]", options: "list[str]") -> "str | None":
    for i, word in enumerate(argv):
        name, has_value, value = word.partition("=")
        if name in options:
            if has_value:
                return value
            if i + 1 < len(argv):
                return argv[i + 1]
    return None


def _first_key(text: str, separator: "str | None" = None) -> "str | None":
    text = text.strip()
    if separator:
        text = text.split(separator)[0]
    lines = text.splitlines()
    return lines[0].strip() if lines and lines[0].strip() else None


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

    if link.sock is not None:
        try:
            link.sock.shutdown(socket.SHUT_RDWR)
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
