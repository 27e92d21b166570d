"""What a probe asks of its servers: what the user said, else as the baseline was asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from firedup.core.error import UsageError
from firedup.core.measure.completion import Generation
from firedup.core.measure.draw import draw
from firedup.core.measure.measured import Arm, Load
from firedup.core.measure.prompt import CATEGORIES, WRITTEN, Prompt, digest_of
from firedup.probe.promptset import load_builtin, load_prompts, load_set
from firedup.session.comparing import refuse_incomparable
from firedup.session.probing import WARM_UP_EACH, Plan
from firedup.session.side import is_address
from firedup.store.probe import find_probe

REQUESTS, FEWEST, MAX_TOKENS = 42, 4, 256
FEWER_LOADS = "Choose fewer or lower loads"
# Parts in which a load is asked. In turn with the other arm's they cancel drift; after each, or
# two of them, is a look at what is certain by now.
PARTS_ALONE, PARTS_IN_TURN = 6, 12


@dataclass(frozen=True, slots=True)
class ProbeOrder:
    """What the user asked for. None: as the stored baseline was measured, else the default."""

    target: str
    baseline: str | None = None
    loads: tuple[Load, ...] | None = None
    requests: int | None = None
    max_tokens: int | None = None
    ignores_eos: bool | None = None
    seed: int | None = None
    categories: tuple[str, ...] = ()
    prompts: Path | None = None
    budget_s: float | None = None


@dataclass(frozen=True, slots=True)
class _Pool:
    """What prompts are drawn from, a name for all of them, and what was left out."""

    prompts: tuple[Prompt, ...]
    name: str
    notes: tuple[str, ...] = ()


def foresee(order: ProbeOrder, folder: Path) -> tuple[str, ...]:
    """What is to be said of the prompts before anything is asked: fewer than usual, or left out.

    `folder` has the measurements that are kept. UsageError or IncomparableError when
    there can be no such probe.
    """
    stored = None
    if order.baseline is not None and not is_address(order.baseline):
        stored = find_probe(folder, order.baseline)
    past = stored.arm if stored else None
    if past is not None:
        plan, generation = make_plan(order, past)
        asked = replace(
            past.conditions,
            max_tokens=generation.max_tokens,
            ignores_eos=generation.ignores_eos,
            prompts=plan.name,
            drafter=None,
        )
        refuse_incomparable(past, replace(past, conditions=asked))
    return _choose(order, past, is_in_turn=order.baseline is not None and past is None)[2]


def make_plan(
    order: ProbeOrder, baseline: Arm | None, *, is_in_turn: bool = False
) -> tuple[Plan, Generation]:
    """The prompts of each load, and how tokens are generated; as `baseline`, where not said."""
    past = baseline.conditions if baseline else None
    loads = _loads(order, baseline)
    eos = order.ignores_eos if order.ignores_eos is not None else past.ignores_eos if past else True
    most = order.max_tokens or (past.max_tokens if past else None) or MAX_TOKENS
    seed = _seed(order, baseline)
    pool, parts, _ = _choose(order, baseline, is_in_turn=is_in_turn)
    warm = sum(WARM_UP_EACH * load.concurrency for load in loads)
    # Salted copies: what warms up is not what is measured, and there may be few prompts.
    count = len(pool.prompts)
    extra = draw(pool.prompts, count + warm, seed=seed, may_repeat=True)[count:]
    generation = Generation(
        max_tokens=most, streams=True, ignores_eos=eos, min_tokens=most if eos else None
    )
    visits = tuple(
        _count_visits(load, len(part), is_in_turn=is_in_turn)
        for load, part in zip(loads, parts, strict=True)
    )
    return Plan(
        loads, parts, extra, generation, pool.name, seed, visits, order.budget_s
    ), generation


def _loads(order: ProbeOrder, baseline: Arm | None) -> tuple[Load, ...]:
    if order.loads:
        return order.loads
    return tuple(cell.load for cell in baseline.cells) if baseline else (Load(1),)


def _seed(order: ProbeOrder, baseline: Arm | None) -> int:
    if order.seed is not None:
        return order.seed
    return baseline.conditions.seed if baseline else 0


def _choose(
    order: ProbeOrder, baseline: Arm | None, *, is_in_turn: bool
) -> tuple[_Pool, tuple[tuple[Prompt, ...], ...], tuple[str, ...]]:
    """The pool, the prompts of each load, and what has to be said about them."""
    loads, seed = _loads(order, baseline), _seed(order, baseline)
    pool = _load_pool(order, seed, baseline)
    # Fewer would leave streams without a request: a lower load under the name of a higher one.
    least = [load.concurrency * (2 if is_in_turn else 1) for load in loads]
    if baseline is not None:
        parts = tuple(_same_part(pool.prompts, baseline, load, order.requests) for load in loads)
        if order.requests is not None:
            _refuse_idle([order.requests] * len(loads), loads, least)
        return pool, parts, (*pool.notes, *_tell_shorter(order, parts))
    counts = _count_requests(order, loads, least, len(pool.prompts))
    drawn = draw(pool.prompts, sum(counts), seed=seed)
    starts = [sum(counts[:number]) for number in range(len(counts))]
    parts = tuple(drawn[at : at + count] for at, count in zip(starts, counts, strict=True))
    return pool, parts, (*pool.notes, *_tell_counts(order, loads, counts, len(pool.prompts)))


def _load_pool(order: ProbeOrder, seed: int, baseline: Arm | None) -> _Pool:
    if order.prompts is not None:
        return _load_own(order.prompts, order.categories)
    asked = {r.category for cell in baseline.cells for r in cell.requests} if baseline else set()
    categories = order.categories or tuple(sorted(asked & {*CATEGORIES})) or WRITTEN
    return _Pool(load_set(categories, seed=seed), f"built-in {digest_of(load_builtin())}")


def _load_own(path: Path, categories: tuple[str, ...]) -> _Pool:
    file = load_prompts(path)
    there = {prompt.category for prompt in file.prompts}
    if missing := [name for name in categories if name not in there]:
        raise UsageError(
            f"{path} has no prompts of the category {missing[0]!r}",
            evidence=f"it has {', '.join(sorted(there))}",
            todo="Choose from these, or leave --category out.",
        )
    own = tuple(one for one in file.prompts if not categories or one.category in categories)
    notes = tuple(f"{path.name}: {note}" for note in file.notes)
    return _Pool(own, f"{path.name} {digest_of(file.prompts)}", notes)


def _count_requests(
    order: ProbeOrder, loads: tuple[Load, ...], least: list[int], available: int
) -> list[int]:
    """How many prompts each load gets: none is asked twice, whatever the load."""
    if order.requests is not None:
        counts = [order.requests] * len(loads)
        _refuse_idle(counts, loads, least)
        if sum(counts) > available:
            most = available // len(loads)
            is_enough = most >= max(FEWEST, *least)
            fewer = f"Take --requests {most} or fewer" if is_enough else FEWER_LOADS
            raise _too_few(sum(counts), available, order, fewer)
        return counts
    if sum(least) > available:
        raise _too_few(sum(least), available, order, FEWER_LOADS)
    each = next(
        number
        for number in range(REQUESTS, 0, -1)
        if number == 1 or sum(max(number, one) for one in least) <= available
    )
    return [max(each, one) for one in least]


def _too_few(wanted: int, available: int, order: ProbeOrder, instead: str) -> UsageError:
    more = "put more prompts into the file"
    if order.prompts is None:
        more = "bring your own with --prompts FILE"
        if order.categories:
            more = f"name more with --category, or {more}"
    return UsageError(
        f"this takes {wanted} different prompts, and there are {available}",
        why="a prompt that is asked twice is answered from caches, and the figures would lie",
        todo=f"{instead}, or {more}.",
    )


def _refuse_idle(counts: list[int], loads: tuple[Load, ...], least: list[int]) -> None:
    """UsageError when a load has fewer requests than it takes to be that load."""
    for count, load, needed in zip(counts, loads, least, strict=True):
        if count < needed:
            turns = " in each of two turns" if needed > load.concurrency else ""
            raise UsageError(
                f"{count} requests are too few for {load.concurrency} streams at a time{turns}",
                why="some streams would never have a request, and a lower load be measured",
                todo=f"Take --requests {max(needed, FEWEST)} or more, or a lower --concurrency.",
            )


def _tell_counts(
    order: ProbeOrder, loads: tuple[Load, ...], counts: list[int], available: int
) -> list[str]:
    """That the number of requests is not the usual one, where nobody chose it."""
    if order.requests is not None or set(counts) == {REQUESTS}:
        return []
    said = ", ".join(f"{count} at {load.word}" for count, load in zip(counts, loads, strict=True))
    if min(counts) < REQUESTS:
        why = f"there are {available} different prompts"
    else:
        why = "each stream needs one"
    if len(set(counts)) == 1:
        said = f"{counts[0]}{' for each load' if len(counts) > 1 else ''}"
    return [f"requests: {said}, instead of {REQUESTS}: {why}"]


def _tell_shorter(order: ProbeOrder, parts: tuple[tuple[Prompt, ...], ...]) -> list[str]:
    fewest = min(map(len, parts))
    if order.requests is None or order.requests <= fewest:
        return []
    return [f"requests: {fewest} instead of {order.requests}: the baseline was asked no more"]


def _same_part(
    pool: tuple[Prompt, ...], baseline: Arm, load: Load, most: int | None
) -> tuple[Prompt, ...]:
    """The prompts that the baseline was asked under `load`, in its order."""
    cell = baseline.at(load)
    if cell is None:
        there = ", ".join(one.load.word for one in baseline.cells)
        raise UsageError(
            f"the baseline was not measured with a load of {load.word}",
            evidence=f"it was with {there}",
            todo="Choose from these, or measure the baseline again.",
        )
    by_id = {prompt.id: prompt for prompt in pool}
    asked = dict.fromkeys(request.prompt for request in cell.requests)
    found = tuple(by_id[name] for name in asked if name in by_id)[:most]
    if not found:
        raise UsageError(
            "none of the prompts that the baseline was asked is known",
            todo="Give the same --prompts file as then, or measure the baseline again.",
        )
    return found


def _count_visits(load: Load, requests: int, *, is_in_turn: bool) -> int:
    """In how many parts a load is asked, each with a request for every stream.

    In turn there is an even number, as many of one arm first as of the other.
    """
    most = requests // max(2, load.concurrency)
    if is_in_turn:
        return max(2, min(PARTS_IN_TURN, most) // 2 * 2)
    return max(1, min(PARTS_ALONE, most))
