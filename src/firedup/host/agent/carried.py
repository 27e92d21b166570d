"""What a keeper sees of the container that its server lives in, as the carrier has noted it."""

import json
import os

from firedup.host.agent.memory import Group
from firedup.host.agent.port import Ports
from firedup.host.agent.proc import Tree
from firedup.host.agent.system import read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Carried:
    """Reads container.json of a run, where its command starts a container."""

    def __init__(self, folder: str, manifest: "dict[str, Any]") -> None:
        self.is_meant = bool(manifest.get("container"))
        self._path = os.path.join(folder, "container.json")
        self._pid = 0
        self._sight = (Tree(0, 0), Ports(os.getpid()), Group(0))

    def read(self) -> "dict[str, Any]":
        """The content of container.json, as far as there is any."""
        if not self.is_meant:
            return {}
        try:
            return dict(json.loads((read_bytes(self._path) or b"{}").decode("utf-8")))
        except ValueError:
            return {}

    def sight(self) -> "tuple[Tree, Ports, Group]":
        """What samples are taken of: the container's processes, none where they are not seen."""
        facts = self.read()
        pid = facts.get("pid") or 0
        if pid != self._pid:
            self._pid = pid
            self._sight[0].close()
            self._sight = (Tree(pid, facts.get("start_ticks") or 0), Ports(pid), Group(pid))
        return self._sight
