"""Ports for servers under test: never the same twice, and none that a connection may get."""

from __future__ import annotations

import itertools
import os
import secrets
import socket

# Below the ports that Linux and macOS give to outgoing connections and to servers that ask for 0:
# between the choice of a port and its use, another test's connection would sooner or later take it.
_LOWEST, _HIGHEST = 12_000, 32_000
_WORKERS = 16  # those of pytest-xdist walk side by side and do not meet
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _WORKERS
_steps = itertools.count(secrets.randbelow((_HIGHEST - _LOWEST) // _WORKERS))


def free_port() -> int:
    """A port of 127.0.0.1 that nobody uses."""
    for step in _steps:
        port = _LOWEST + (step * _WORKERS + _worker) % (_HIGHEST - _LOWEST)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise AssertionError("the steps never end")
