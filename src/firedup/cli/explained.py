"""What `firedup explain` does: logs here or on a host, one explanation after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from firedup.core.error import FiredupError, UsageError
from firedup.core.model import Explanation
from firedup.core.rule import Matcher
from firedup.session.explain import Looking, explain_path

Outcome = tuple[str, Explanation | FiredupError]


def explain_all(
    logs: Sequence[str],
    host: str | None,
    *,
    matcher: Matcher,
    engine: str | None,
    looking: Looking,
) -> Iterator[Outcome]:
    """Each log as it is to be called, with its explanation or with why there is none.

    Raises HostError when the host cannot be reached at all.
    """
    if host is None or _is_here(host):
        for path in logs:
            try:
                yield path, explain_path(path, matcher=matcher, engine=engine, looking=looking)
            except UsageError as error:
                yield path, error
        return
    from firedup.cli.drive import run_async

    there = _explain_there(logs, host, matcher=matcher, engine=engine, looking=looking)
    yield from run_async(there)


def _is_here(host: str) -> bool:
    from firedup.host.address import parse_host

    return parse_host(host).is_local


async def _explain_there(
    logs: Sequence[str], host: str, *, matcher: Matcher, engine: str | None, looking: Looking
) -> list[Outcome]:
    """Standard input is read here all the same."""
    from firedup.host.base import OperationError
    from firedup.session.explain_there import explain_log
    from firedup.session.open import open_host
    from firedup.view.phrase import name_place

    outcomes: list[Outcome] = []
    async with open_host(host) as agent:
        for path in logs:
            place = "-" if path == "-" else name_place(agent.host.name, path)
            try:
                if path == "-":
                    found = explain_path(path, matcher=matcher, engine=engine, looking=looking)
                else:
                    found = await explain_log(
                        agent, path, matcher=matcher, engine=engine, looking=looking
                    )
                outcomes.append((place, found))
            except (UsageError, OperationError) as error:
                outcomes.append((place, error))
    return outcomes
