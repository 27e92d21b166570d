"""Takes into an order what is remembered of its host, and says so."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from firedup.cli.say import say_aside
from firedup.host.config import read_memory
from firedup.host.link import Agent
from firedup.session.order import Order
from firedup.session.path import suspect_home
from firedup.session.recall import recall_order


def complete_order(agent: Agent, order: Order, given: Mapping[str, Any]) -> Order:
    """The order for the agent's host; options that were given go before what is remembered."""
    name = agent.host.name
    for path in (order.cwd, order.log, *order.env_files):
        if path is not None and (quoted := suspect_home(agent, path)) is not None:
            say_aside(f"{path} is on {name}; if you typed a ~, quote it: {quoted}")
    memory = read_memory(name, os.environ)
    has_login_said = given["login"] is not None
    complete, taken = recall_order(agent, order, memory, has_login_said=has_login_said)
    if taken:
        say_aside(f"remembered of {name}: {' '.join(taken)}")
    return complete
