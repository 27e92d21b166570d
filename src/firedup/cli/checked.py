"""What `firedup check` does: reads the options or a run, and judges or mends the pair."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from firedup.cli.drive import run_async
from firedup.cli.pairnamed import Others, Pair, Words, name_pair
from firedup.core.checked import Checked, Fixed
from firedup.core.error import UsageError
from firedup.core.model import ServerSpec
from firedup.drafter.asked import engine_of
from firedup.drafter.case import Launch
from firedup.drafter.jsonflag import refuse_broken_json
from firedup.drafter.known import demand_known, engine_named
from firedup.drafter.launch import read_launch
from firedup.drafter.pair import Question, check_pair, check_paths
from firedup.drafter.place import Here, There
from firedup.drafter.tokenfile import count_tokens


def check_asked(
    words: Words,
    *,
    engine: str | None,
    version: str | None,
    tp: int | None,
    launch: str | None,
    run: str | None,
    host: str | None,
    tokens: str | None = None,
) -> Checked:
    """The answer to what was asked. UsageError where it cannot be answered, HostError."""
    if launch is not None and run is not None:
        raise UsageError("a run has a command of its own", todo="Leave out --command or --run.")
    counts = {} if tokens is None else count_tokens(tokens)
    if run is not None:
        wanted = Question(engine, version, tokens=counts)
        return run_async(_check_run(words, run, host, wanted, tp))
    pair, question = _ask(words, engine=engine, version=version, tp=tp, launch=launch)
    return run_async(_check_paths(pair, replace(question, tokens=counts), host))


async def _check_paths(pair: Pair, question: Question, host: str | None) -> Checked:
    return _with(pair.others, await check_paths(pair.target, pair.draft, question, host=host))


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

    pair, question = _ask(words, engine=engine, version=version, tp=tp, launch=launch)
    return run_async(fix_paths(pair.target, pair.draft, out, question, host=host))


def _ask(
    words: Words, *, engine: str | None, version: str | None, tp: int | None, launch: str | None
) -> tuple[Pair, Question]:
    if launch is None:
        demand_known(engine, version)
        return name_pair(words, ServerSpec(), ""), Question(engine, version, Launch(tp=tp))
    argv = _split(launch)
    spec = _read_spec(argv)
    read = _read(argv, {}, tp, spec)
    engine = _engine_of(engine, spec, read)
    demand_known(engine, version)
    if engine is None:
        raise UsageError(
            "the command starts no engine that is known",
            where=launch,
            todo="Give the whole launch command, or name the engine with --engine.",
        )
    return name_pair(words, spec, "", "the command"), Question(engine, version, read)


def _engine_of(engine: str | None, spec: ServerSpec, launch: Launch) -> str | None:
    """The engine to ask about. UsageError where the command starts another than was named."""
    started = spec.engine if engine_named(spec.engine or "") else engine_of(launch)
    if None not in (engine, started) and engine != started:
        raise UsageError(
            f"the command starts {started}, and --engine says {engine}",
            todo="Leave --engine out, or give the command of that engine.",
        )
    return engine or started


def _read_spec(argv: tuple[str, ...]) -> ServerSpec:
    from firedup.cli.knowledge import read_catalogue
    from firedup.profile.command import read_command

    return read_command(argv, {}, read_catalogue())


async def _check_run(
    words: Words, run: str, host: str | None, wanted: Question, tp: int | None
) -> Checked:
    from firedup.cli.links import open_run

    async with open_run(host, run) as (agent, found):
        manifest = found.manifest
        launch = _read(manifest.argv, manifest.env, tp, found.spec)
        engine = _engine_of(wanted.engine, found.spec, launch)
        demand_known(engine, wanted.version)
        cwd = manifest.cwd or ""
        is_local = agent.host.is_local
        named = (_from_here(words[0]), _from_here(words[1])) if is_local else words
        pair = name_pair(named, found.spec, cwd, f"the command of {run}")
        place = Here(cwd, launch.env) if is_local else There(agent, cwd, launch.env)
        question = replace(wanted, engine=engine, launch=launch)
        checked = await check_pair((place, pair.target), (place, pair.draft), question)
        return _with(pair.others, checked)


def _from_here(word: str | None) -> str | None:
    """A path that was typed and is there, in full: those of a command are from another folder."""
    path = Path(word or "").expanduser()
    return str(path.absolute()) if word and path.exists() else word


def _split(text: str) -> tuple[str, ...]:
    try:
        argv = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError("the command has an open quote", where=text) from error
    if not argv:
        raise UsageError(
            "--command is empty", todo="Give the launch command as one text, in quotes."
        )
    return argv


def _read(argv: Sequence[str], env: Mapping[str, str], tp: int | None, spec: ServerSpec) -> Launch:
    """The flags. UsageError for a value that the engine would not be able to read."""
    launch = read_launch(argv, env, tp or spec.tensor_parallel)
    refuse_broken_json(launch)
    return launch


def _with(others: Others, checked: Checked) -> Checked:
    """The same, with what the command names besides among the facts."""
    return replace(checked, facts=(*checked.facts, *others))
