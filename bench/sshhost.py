"""A host behind SSH for benches: this machine once more, with a home and a state of its own."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.ssh_server import KINDS, SshBox, start_box, why_not


def best_kind() -> str | None:
    """The real server where there is one, else the one in Python; None where ssh is missing."""
    return next((kind for kind in reversed(KINDS) if why_not(kind) is None), None)


@contextmanager
def ssh_host(folder: Path, kind: str, name: str) -> Iterator[SshBox]:
    """The host `name`; clients know it by this process's environment."""
    config = folder / "ssh_config"
    config.touch()
    sockets = tempfile.mkdtemp(prefix="fu-", dir="/tmp")
    os.environ["XDG_RUNTIME_DIR"] = sockets
    os.environ["FIREDUP_SSH"] = shlex.join(["ssh", "-F", str(config)])
    box = start_box(kind, name, folder / "host", config)
    try:
        yield box
    finally:
        box.close()
        shutil.rmtree(sockets, ignore_errors=True)
