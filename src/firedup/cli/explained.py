"""What `firedup explain` does: logs here or on a host, one explanation after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

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
                if not _may_be_run(path):
                    yield path, error
                    continue
                from firedup.cli.drive import run_async

                named = _explain_named(path, matcher=matcher, engine=engine, looking=looking)
                yield path, run_async(named) or _neither(error, path)
        return
    from firedup.cli.drive import run_async

    there = _explain_there(logs, host, matcher=matcher, engine=engine, looking=looking)
    yield from run_async(there)


def _may_be_run(word: str) -> bool:
    """Whether `word` is no file here and has no form that only a path has."""
    return "/" not in word and not Path(word).exists()


def _neither(error: FiredupError, word: str) -> FiredupError:
    """`error` of a log that is not there, which is said of runs as well."""
    return UsageError(
        f"{error.what}, and no run is called {word}",
        todo="Give the path of a log file or - for standard input; firedup ps --all lists runs.",
    )


async def _explain_named(
    word: str, *, matcher: Matcher, engine: str | None, looking: Looking
) -> Explanation | None:
    """The run that `word` names on this machine, or on the one that knows it; None if none."""
    from firedup.cli.links import open_run
    from firedup.session.explain_run import explain_run
    from firedup.session.registry import UnknownRunError

    try:
        async with open_run(None, word) as (agent, run):
            return await explain_run(agent, run, matcher=matcher, engine=engine, looking=looking)
    except UnknownRunError:
        return None


def _is_here(host: str) -> bool:
    from firedup.host.address import parse_host

    return parse_host(host).is_local


async def _explain_there(
    logs: Sequence[str], host: str, *, matcher: Matcher, engine: str | None, looking: Looking
) -> list[Outcome]:
    """Standard input is read here all the same."""
    from firedup.host.base import OperationError
    from firedup.host.file import stat_file
    from firedup.session.explain_run import explain_run
    from firedup.session.explain_there import explain_log
    from firedup.session.open import open_host
    from firedup.session.path import path_on
    from firedup.session.registry import UnknownRunError, find_run
    from firedup.view.phrase import name_place

    outcomes: list[Outcome] = []
    async with open_host(host) as agent:
        for path in logs:
            place = "-" if path == "-" else name_place(agent.host.name, path)
            try:
                if path == "-":
                    found = explain_path(path, matcher=matcher, engine=engine, looking=looking)
                elif "/" not in path and await stat_file(agent, path_on(agent, path)) is None:
                    run = await find_run(agent, path)
                    found = await explain_run(
                        agent, run, matcher=matcher, engine=engine, looking=looking
                    )
                else:
                    found = await explain_log(
                        agent, path, matcher=matcher, engine=engine, looking=looking
                    )
                outcomes.append((place, found))
            except UnknownRunError:
                nothing = UsageError(f"there is no log at {place}")
                outcomes.append((place, _neither(nothing, path)))
            except (UsageError, OperationError) as error:
                outcomes.append((place, error))
    return outcomes
