"""Where a checkpoint lies on this host: at a path, or in the cache of the hub."""

import os
import re

from firedup.host.agent.document import FlawError, read_all
from firedup.host.agent.ggufhead import is_gguf
from firedup.host.agent.system import AgentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_NAMES = 20000  # in one folder
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def find_checkpoint(path: str, base: str = "", env: "Any" = None) -> str:
    """Where a checkpoint lies: at `path`, or in the cache of the hub under that name.

    `base` is the folder that relative paths are from, `env` has variables beside this process's.
    A file beside its config.json stands for the folder, which alone is what engines load.
    """
    place = os.path.join(base, os.path.expanduser(path))
    if "\0" not in place and os.path.lexists(place):
        folder = os.path.dirname(place) or "."
        has_config = os.path.isfile(os.path.join(folder, "config.json"))
        is_part = has_config or place.endswith(".safetensors.index.json")
        return folder if os.path.isfile(place) and is_part and not is_gguf(place) else place
    why = "no such file or folder"
    if _HUB_NAME.fullmatch(path):
        hub = _hub_cache(dict(os.environ, **(env or {})))
        folder = os.path.join(hub, "models--" + path.replace("/", "--"), "snapshots")
        snapshot = _snapshot_of(folder)
        if snapshot is not None:
            return snapshot
        why = f"no folder{' in ' + base if base else ''}, and no model in the hub's cache {hub}"
    raise AgentError("not-found", f"{path}: {why}", "ENOENT")


def _hub_cache(env: "Any") -> str:
    """Where huggingface_hub keeps models."""
    home = env.get("HF_HOME") or os.path.join(
        env.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "huggingface"
    )
    named = env.get("HF_HUB_CACHE") or env.get("HUGGINGFACE_HUB_CACHE")
    return os.path.expanduser(named or os.path.join(home, "hub"))


def _snapshot_of(folder: str) -> "str | None":
    """The snapshot that main refers to, or the only one that there is."""
    try:
        text = read_all(os.path.join(os.path.dirname(folder), "refs", "main"), 200)
        names = [os.path.basename(text.decode("ascii").strip())]
    except (FlawError, UnicodeDecodeError):
        try:
            names = list_names(folder)
        except OSError:
            return None
    places = [os.path.join(folder, name) for name in names if name]
    found = [place for place in places if os.path.isdir(place)]
    return found[0] if len(found) == 1 else None


def list_names(folder: str) -> "list[str]":
    """What lies in a folder, in order; a little more than the most that is looked at."""
    names = []
    with os.scandir(folder) as entries:
        for entry in entries:
            names.append(entry.name)
            if len(names) > MOST_NAMES:
                break
    return sorted(names)
