"""What `firedup check` does: reads the options or a run, and judges or mends the pair."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Mapping, Sequence

from firedup.cli.drive import run_async
from firedup.core.checked import Checked, Fixed
from firedup.core.error import UsageError
from firedup.core.model import ServerSpec
from firedup.drafter.case import Launch
from firedup.drafter.known import engines
from firedup.drafter.launch import read_launch
from firedup.drafter.pair import Question, check_pair, check_paths
from firedup.drafter.place import Here, There

Words = tuple[str | None, str | None]


def check_asked(
    words: Words,
    *,
    engine: str | None,
    version: str | None,
    tp: int | None,
    launch: str | None,
    run: str | None,
    host: str | None,
) -> Checked:
    """The answer to what was asked. UsageError where it cannot be answered, HostError."""
    if launch is not None and run is not None:
        raise UsageError("a run has a command of its own", todo="Leave out --command or --run.")
    if run is not None:
        _check_engine(engine)
        return run_async(_check_run(words, run, host, engine=engine, version=version, tp=tp))
    target, draft, question = _ask(words, engine=engine, version=version, tp=tp, launch=launch)
    return run_async(check_paths(target, draft, question, host=host))


def fix_asked(
    words: Words,
    out: str,
    *,
    engine: str | None,
    version: str | None,
    tp: int | None,
    launch: str | None,
    run: str | None,
    host: str | None,
) -> Fixed:
    """The corrected copy at `out`. UsageError where the drafter cannot be corrected, HostError."""
    if run is not None:
        raise UsageError(
            "the drafter of a run is corrected by its place",
            todo="Name TARGET and DRAFT, or the --command, instead of --run.",
        )
    from firedup.drafter.fix import fix_paths

    target, draft, question = _ask(words, engine=engine, version=version, tp=tp, launch=launch)
    return run_async(fix_paths(target, draft, out, question, host=host))


def _ask(
    words: Words, *, engine: str | None, version: str | None, tp: int | None, launch: str | None
) -> tuple[str, str, Question]:
    _check_engine(engine)
    argv = _split(launch) if launch is not None else ()
    spec = _read_spec(argv) if argv else ServerSpec()
    target, draft = _complete(words, spec, "")
    return target, draft, Question(engine or spec.engine, version, _read(argv, {}, tp, spec))


def _check_engine(engine: str | None) -> None:
    """UsageError when no profile is called `engine`; those that checks know need no look."""
    if engine is not None and engine not in {one.engine for one in engines()}:
        from firedup.cli.knowledge import read_catalogue

        read_catalogue(engine=engine)


def _read_spec(argv: tuple[str, ...]) -> ServerSpec:
    from firedup.cli.knowledge import read_catalogue
    from firedup.profile.command import read_command

    return read_command(argv, {}, read_catalogue())


async def _check_run(
    words: Words,
    run: str,
    host: str | None,
    *,
    engine: str | None,
    version: str | None,
    tp: int | None,
) -> Checked:
    from firedup.cli.links import open_run

    async with open_run(host, run) as (agent, found):
        manifest = found.manifest
        target, draft = _complete(words, found.spec, manifest.cwd or "")
        launch = _read(manifest.argv, manifest.env, tp, found.spec)
        place = Here() if agent.host.is_local else There(agent)
        question = Question(engine or found.spec.engine, version, launch)
        return await check_pair((place, target), (place, draft), question)


def _split(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError("the command has an open quote", where=text) from error


def _read(argv: Sequence[str], env: Mapping[str, str], tp: int | None, spec: ServerSpec) -> Launch:
    return read_launch(argv, env, tp or spec.tensor_parallel)


def _complete(words: Words, spec: ServerSpec, cwd: str) -> tuple[str, str]:
    """Target and drafter, from the command where they were not given."""
    named = []
    for word, meant, role in zip(words, (spec.model, spec.draft), ("TARGET", "DRAFT"), strict=True):
        if word is None and meant is None:
            raise UsageError(
                f"{role} is missing",
                todo="firedup check TARGET DRAFT, or --command or --run that names both.",
            )
        named.append(word if word is not None else posixpath.join(cwd, meant or ""))
    return named[0], named[1]
