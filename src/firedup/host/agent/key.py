"""Finds the API key that a server was started with; it never leaves the host."""

import json
import os

from firedup.host.agent.engine import read_started_with
from firedup.host.agent.proc import find_process, is_alive, read_argv
from firedup.host.agent.system import boot_id, read_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SHORTEST = 4  # of the beginnings that stand for an option


def find_key(source: "dict[str, Any]") -> "str | None":
    """The first API key of a server, None where there is none to be found.

    `source`: {pid, start_ticks} of a process or {run} (a run folder) or {container} (the client's
    words and a name) or {file}; with `options`
    (whose value is the key), `file_options` (whose value is a file of keys) and `env` (variables),
    tried in this order. `abbreviates`: beginnings of long options count. `separator` ends the
    first of several keys. A run's server is asked itself too, while it lives: its shell may have
    set what the manifest does not know. So is the engine of a container, which knows the variables
    of that from wherever they came.
    """
    if source.get("file"):
        return _read_key(source["file"])
    argvs, env, cwd, pid = [], {}, "/", None  # type: list[list[str]], dict[str, str], str, Any
    box = source.get("container") or []
    if source.get("run"):
        manifest = _read_object(source["run"], "manifest.json")
        argvs, cwd = [manifest["argv"]], manifest.get("cwd") or cwd
        env = dict(manifest.get("env") or {})
        pid = _server_of(source["run"])
        box = _container_of(source["run"])
    elif source.get("pid"):
        pid = find_process(int(source["pid"]), source.get("start_ticks")).pid
    if pid is not None:
        argvs.append(read_argv(pid))
        env.update(_read_environ(pid))
        try:
            cwd = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            pass
    if box:
        argv, inside = read_started_with(box[:-1], box[-1], env)
        argvs.append(argv)
        env.update(inside)
    is_short = bool(source.get("abbreviates"))
    for argv in argvs:
        key = _value_of(argv, source.get("options", []), is_short=is_short)
        if key:
            return _first_key(key, source.get("separator"))
        path = _value_of(argv, source.get("file_options", []), is_short=is_short)
        if path:
            return _read_key(os.path.join(cwd, path))
    key = next((env[name] for name in source.get("env", []) if env.get(name)), None)
    return _first_key(key or "", source.get("separator"))


def _server_of(folder: str) -> "int | None":
    """The pid of a run's server while exactly that process lives."""
    try:
        keeper = _read_object(folder, "keeper.json")
    except (OSError, ValueError):
        return None
    server = keeper["server"]
    is_there = keeper["boot_id"] == boot_id() and is_alive(server["pid"], server["start_ticks"])
    return int(server["pid"]) if is_there else None


def _container_of(folder: str) -> "list[str]":
    """The client's words and the id of a run's container; empty where there is none."""
    try:
        told = _read_object(folder, "container.json")
        return [*told["client"], told["id"]]
    except (OSError, ValueError, KeyError):
        return []


def _read_object(folder: str, name: str) -> "dict[str, Any]":
    with open(os.path.join(folder, name), "rb") as file:
        return dict(json.loads(file.read().decode("utf-8")))


def _read_environ(pid: int) -> "dict[str, str]":
    words = (read_whole(f"/proc/{pid}/environ") or b"").split(b"\0")
    pairs = [word.partition(b"=") for word in words]
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def _value_of(argv: "list[str]", options: "list[str]", *, is_short: bool) -> "str | None":
    """The value of the last of `options` on a command line, the first of several values."""
    found = None
    for i, word in enumerate(argv):
        name, has_value, value = word.partition("=")
        if not _is_option(name, options, is_short=is_short):
            continue
        if has_value:
            found = value
        elif i + 1 < len(argv) and not argv[i + 1].startswith("--"):
            found = argv[i + 1]
    return found


def _is_option(name: str, options: "list[str]", *, is_short: bool) -> bool:
    if name.startswith("--"):
        name = name.replace("_", "-")
        if is_short and len(name) >= _SHORTEST:
            return any(option.startswith(name) for option in options)
    return name in options


def _read_key(path: str) -> "str | None":
    return _first_key((read_whole(path) or b"").decode("utf-8", "replace"))


def _first_key(text: str, separator: "str | None" = None) -> "str | None":
    if separator:
        text = text.partition(separator)[0]
    lines = text.strip().splitlines()
    return lines[0].strip() if lines and lines[0].strip() else None
