"""Completes an order by what is remembered of the host on which it is to be launched."""

from __future__ import annotations

import shlex
from dataclasses import replace

from firedup.host.config import HostMemory
from firedup.host.link import Agent
from firedup.session.order import Order
from firedup.session.path import path_below_home, path_on


def recall_order(
    agent: Agent, order: Order, memory: HostMemory, *, has_login_said: bool = False
) -> tuple[Order, tuple[str, ...]]:
    """`order` with what it leaves open taken from `memory`, and those words as options.

    An empty `setup` in the order means none. Paths with `~` become absolute ones on the host; what
    is remembered with a relative one begins at the home there. `has_login_said`: the order's
    `login` was asked for or forbidden, so that the memory has no say.
    """
    taken: list[str] = []
    env_files = order.env_files
    if memory.env_file and not env_files:
        env_files = (path_below_home(agent, memory.env_file),)
        taken.append(f"--env-file {shlex.quote(memory.env_file)}")
    setup = order.setup
    if setup is None and memory.setup:
        setup = memory.setup
        taken.append(f"--setup {shlex.quote(setup)}")
    login = order.login
    if memory.login and not login and not has_login_said:
        login = True
        taken.append("--login")
    cwd = path_on(agent, order.cwd) if order.cwd else None
    if cwd is None and memory.cwd:
        cwd = path_below_home(agent, memory.cwd)
        taken.append(f"--cwd {shlex.quote(memory.cwd)}")
    log = order.log
    if log is not None and log.startswith("~"):
        log = path_on(agent, log)
    changed = replace(
        order, env_files=env_files, setup=setup or None, login=login, cwd=cwd, log=log
    )
    return changed, tuple(taken)
