"""Reads the TOML file that says what is launched on which host."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from firedup.core.error import UsageError
from firedup.host.address import parse_host
from firedup.session.nodes import NodePlan
from firedup.session.order import Order, parse_words

# What may stand at the top, for all nodes, or in a [[node]] table, for one.
_SHARED = ("command", "flags", "env", "env_file", "cwd", "log", "setup", "login")
_TOP = ("name", "engine", "node")
_OWN = ("host", "head", "address")


@dataclass(frozen=True, slots=True)
class NodesFile:
    """The nodes in the order of the file, and which host is marked as the head, if one is."""

    nodes: tuple[NodePlan, ...]
    head: str | None = None
    name: str | None = None
    engine: str | None = None


def read_nodes_file(path: str, common: Order) -> NodesFile:
    """The nodes of the file at `path`; `common` has what the command line says for all of them.

    UsageError with the key that is wrong.
    """
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the file of nodes {path} cannot be read", why=str(error)) from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the file of nodes {path} is no TOML", why=str(error)) from error
    return parse_nodes(table, path, common)


def parse_nodes(table: Mapping[str, Any], path: str, common: Order) -> NodesFile:
    """As `read_nodes_file`, of a table that was read already; `path` is for messages."""
    nodes = table.get("node")
    if not isinstance(nodes, list) or not all(isinstance(node, dict) for node in nodes):
        raise UsageError(
            f"{path} has no [[node]] tables",
            todo='Write one for each host: [[node]] and host = "box1" below it.',
        )
    _refuse_unknown(table, (*_TOP, *_SHARED), path, "the file")
    order = replace(common, name=common.name or _text(table, "name", path), argv=())
    order = _apply(order, table, path)
    plans, heads = [], []
    for number, node in enumerate(nodes, 1):
        where = f"{path}, node {number}"
        _refuse_unknown(node, (*_OWN, *_SHARED), where, "a node")
        host = _text(node, "host", where)
        if host is None:
            raise UsageError(f"node {number} of {path} has no host", todo='Write host = "box1".')
        host = parse_host(host).name
        if _flag(node, "head", where):
            heads.append(host)
        own = _apply(order, node, where)
        own = replace(own, argv=(*own.argv, *common.argv))
        if not own.argv:
            raise UsageError(f"{where} ({host}) has no command", todo="Write command = [...].")
        plans.append(NodePlan(host, own, _text(node, "address", where)))
    if len(heads) > 1:
        raise UsageError(f"{path} has {len(heads)} heads", evidence=", ".join(heads))
    head = heads[0] if heads else None
    return NodesFile(tuple(plans), head, order.name, _text(table, "engine", path))


def _apply(order: Order, table: Mapping[str, Any], where: str) -> Order:
    """`order` with what `table` says; a command replaces one, flags and variables are added."""
    env = dict(order.env)
    file = _text(table, "env_file", where)
    env |= _variables(table, where)
    argv = order.argv
    if "command" in table:
        more, argv = parse_words(_words(table, "command", where))
        env |= dict(more)
    argv += _words(table, "flags", where)
    return replace(
        order,
        argv=argv,
        env=tuple(env.items()),
        env_files=(*order.env_files, file) if file is not None else order.env_files,
        cwd=_text(table, "cwd", where) or order.cwd,
        log=_text(table, "log", where) or order.log,
        setup=_text(table, "setup", where) or order.setup,
        login=_flag(table, "login", where) or order.login,
    )


def _words(table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """The words of a list, or of a text in which quotes work as in a shell, and nothing else."""
    value = table.get(key, [])
    if isinstance(value, str):
        try:
            return tuple(shlex.split(value))
        except ValueError as error:
            raise _wrong(key, where, f"it has {str(error).lower()}") from error
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise _wrong(key, where, "it is neither a text nor a list of texts")
    return tuple(value)


def _variables(table: Mapping[str, Any], where: str) -> dict[str, str]:
    value = table.get("env", {})
    is_simple = isinstance(value, dict) and all(
        isinstance(item, str | int) and not isinstance(item, bool) for item in value.values()
    )
    if not is_simple:
        raise _wrong("env", where, 'it is no table of texts, such as env = {NCCL_DEBUG = "INFO"}')
    return {name: str(item) for name, item in value.items()}


def _text(table: Mapping[str, Any], key: str, where: str) -> str | None:
    value = table.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise _wrong(key, where, "it is no text")
    return value


def _flag(table: Mapping[str, Any], key: str, where: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise _wrong(key, where, "it is neither true nor false")
    return value


def _refuse_unknown(
    table: Mapping[str, Any], known: tuple[str, ...], where: str, what: str
) -> None:
    for key in table:
        if key not in known:
            raise UsageError(
                f"{where}: there is no key {key!r}", why=f"{what} may have: {', '.join(known)}"
            )


def _wrong(key: str, where: str, why: str) -> UsageError:
    return UsageError(f"{where}: {key} cannot be used", why=why)
