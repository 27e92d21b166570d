"""Checks a drafter against its target: reads both where they lie, and judges what was read."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from firedup.core.checked import Checked, Harm
from firedup.core.error import UsageError
from firedup.drafter.case import Case, Launch
from firedup.drafter.checkpoint import Checkpoint
from firedup.drafter.facts_draft import draft_facts
from firedup.drafter.facts_target import target_facts
from firedup.drafter.jsonflag import refuse_broken_json
from firedup.drafter.judge import judge
from firedup.drafter.known import demand_known
from firedup.drafter.launch import read_launch
from firedup.drafter.place import Here, Place, There
from firedup.drafter.sample import Sampled, take_samples
from firedup.drafter.told import tell_facts, tell_unread
from firedup.host.address import parse_host
from firedup.host.config import read_memory
from firedup.host.link import open_agent

_FAR = re.compile(r"(.*[^/:]):((?:/(?!/)|~).*)", re.DOTALL)
_BLOCK = 1024


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about a pair: for which engine at which version, launched how, for which text.

    `tokens` are those of the text, with how often each comes.
    """

    engine: str | None = None
    version: str | None = None
    launch: Launch = field(default_factory=Launch)
    tokens: Mapping[int, int] = field(default_factory=dict)


def check(
    target: str | os.PathLike[str],
    draft: str | os.PathLike[str],
    *,
    engine: str | None = None,
    version: str | None = None,
    tp: int | None = None,
    command: str | Sequence[str] | None = None,
) -> Checked:
    """Whether `draft` fits `target`: folders, GGUF files or HOST:/path; nothing is loaded or run.

    Without `engine` the answer is for all that are known. `command` is the launch command, whose
    flags are judged together with the files. UsageError when a path leads nowhere or engine,
    version or command cannot be understood, HostError when a host cannot be reached. Not for use
    inside a running event loop: that awaits `check_paths`.
    """
    demand_known(engine, version)
    try:
        launch = read_launch(command or (), tp=tp)
    except ValueError as error:
        raise UsageError("the command has an open quote", where=str(command)) from error
    refuse_broken_json(launch)
    question = Question(engine, version, launch)
    return asyncio.run(check_paths(os.fspath(target), os.fspath(draft), question))


async def check_paths(
    target: str, draft: str, question: Question, *, host: str | None = None
) -> Checked:
    """The same inside an event loop. `host` is where paths without a host of their own lie."""
    async with open_case(target, draft, question, host=host) as (case, sampled):
        return await _answer(case, sampled)


@asynccontextmanager
async def open_case(
    target: str, draft: str, question: Question, *, host: str | None = None
) -> AsyncIterator[tuple[Case, Sampled]]:
    """What checks look at, read where both checkpoints lie; the links stay open meanwhile."""
    async with AsyncExitStack() as stack:
        places: dict[str, Place] = {}
        found = []
        for text in (target, draft):
            name, path = split_place(text)
            if not path.strip():
                raise UsageError("a path is empty", todo="Name both: the target, then the drafter.")
            name = parse_host(name or host or "local").name
            if name not in places:
                places[name] = await _open(stack, name)
            found.append((places[name], path))
        yield await _read_case(found[0], found[1], question)


async def check_pair(
    target: tuple[Place, str], draft: tuple[Place, str], question: Question
) -> Checked:
    """Check what lies at (place, path) of each."""
    return await _answer(*await _read_case(target, draft, question))


async def check_described(
    target: tuple[Place, Checkpoint], draft: tuple[Place, Checkpoint], question: Question
) -> Checked:
    """Check two that were read already, each with the place where it lies."""
    return await _answer(*await _make_case(target, draft, question))


async def _read_case(
    target: tuple[Place, str], draft: tuple[Place, str], question: Question
) -> tuple[Case, Sampled]:
    (target_place, target_path), (draft_place, draft_path) = target, draft
    one, other = await asyncio.gather(
        target_place.describe(target_path), draft_place.describe(draft_path)
    )
    return await _make_case((target_place, one), (draft_place, other), question)


async def _make_case(
    target: tuple[Place, Checkpoint], draft: tuple[Place, Checkpoint], question: Question
) -> tuple[Case, Sampled]:
    one, other = await _compare_tokens(target, draft)
    facts = target_facts(one), draft_facts(other)
    sampled = await take_samples(target[0], draft[0], one, other, facts)
    case = Case(
        one,
        other,
        *facts,
        question.engine,
        question.version,
        question.launch,
        sampled.samples,
        question.tokens,
    )
    return case, sampled


async def _answer(case: Case, sampled: Sampled) -> Checked:
    findings, failed = await asyncio.to_thread(judge, case)
    one, other = case.target, case.draft
    return Checked(
        target=_called(one),
        draft=_called(other),
        engine=case.engine,
        version=case.version,
        findings=findings,
        facts=tell_facts(one, other, (case.target_facts, case.draft_facts)),
        skipped=(*failed, *tell_unread(case), *sampled.skipped),
        read_bytes=sampled.read_bytes,
    )


def assert_drafter_fits(
    target: str | os.PathLike[str],
    draft: str | os.PathLike[str],
    *,
    engine: str | None = None,
    version: str | None = None,
    tp: int | None = None,
    command: str | Sequence[str] | None = None,
) -> None:
    """AssertionError with all findings when `draft` would crash or lose acceptance without a word.

    For tests of those who train drafters. Risks and notes do not fail.
    """
    found = check(target, draft, engine=engine, version=version, tp=tp, command=command)
    bad = [one for one in found.findings if one.harm in {Harm.CRASH, Harm.SILENT_LOSS}]
    if not bad:
        return
    lines = [f"{found.draft} does not fit {found.target}:"]
    for one in bad:
        lines.append(f"- {one.harm.value}: {one.message} [{one.id}]")
        lines += [f"    {evidence.text}" for evidence in one.evidence]
        lines += [
            f"    {c.engine}{f' {c.versions}' * bool(c.versions)}: {c.text}"
            for c in one.consequences
        ]
        lines += [f"    {one.remedy}"] if one.remedy else []
    raise AssertionError("\n".join(lines))


def split_place(text: str) -> tuple[str | None, str]:
    """(host, path) of HOST:/path or HOST:~/path; (None, path) for what names no host."""
    found = _FAR.fullmatch(text)
    if found is None or text.startswith(("/", "./", "../", "~")):
        return None, text
    return found[1], found[2]


async def _open(stack: AsyncExitStack, name: str) -> Place:
    host = parse_host(name)
    if host.is_local:
        return Here()
    python = read_memory(host.name, os.environ).python
    host = replace(host, python=python) if python else host
    return There(await stack.enter_async_context(open_agent(host)))


def _called(one: Checkpoint) -> str:
    return f"{one.host}:{one.path}" if one.host else one.path


async def _compare_tokens(
    target: tuple[Place, Checkpoint], draft: tuple[Place, Checkpoint]
) -> tuple[Checkpoint, Checkpoint]:
    """Both, with the texts of the first block of tokens in which two like tokenizers differ."""
    (_, one), (_, other) = target, draft
    left, right = one.tokenizer, other.tokenizer
    if not left or not right or left.kind != right.kind or left.digest == right.digest:
        return one, other
    numbers = sorted({*left.blocks, *right.blocks})
    unlike = (n for n in numbers if left.blocks.get(n) != right.blocks.get(n))
    first = next(unlike, None)
    if first is None:
        return one, other
    ids = range(first * _BLOCK, (first + 1) * _BLOCK)
    texts = [await place.tokens(checkpoint.path, ids) for place, checkpoint in (target, draft)]
    return (
        replace(one, tokenizer=replace(left, tokens=texts[0])),
        replace(other, tokenizer=replace(right, tokens=texts[1])),
    )
