"""What a probe asks of its servers: what the user said, else as the baseline was asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from firedup.core.completion import Generation
from firedup.core.draw import draw
from firedup.core.error import UsageError
from firedup.core.measured import Arm, Load
from firedup.core.prompt import CATEGORIES, WRITTEN, Prompt, digest_of
from firedup.probe.promptset import load_builtin, load_prompts, load_set
from firedup.session.probing import WARM_UP_EACH, Plan

REQUESTS, MAX_TOKENS = 42, 256
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


def make_plan(
    order: ProbeOrder, baseline: Arm | None, *, is_in_turn: bool = False
) -> tuple[Plan, Generation]:
    """The prompts of each load, and how tokens are generated; as `baseline`, where not said."""
    past = baseline.conditions if baseline else None
    loads = order.loads or (tuple(cell.load for cell in baseline.cells) if baseline else (Load(1),))
    seed = order.seed if order.seed is not None else past.seed if past else 0
    eos = order.ignores_eos if order.ignores_eos is not None else past.ignores_eos if past else True
    most = order.max_tokens or (past.max_tokens if past else None) or MAX_TOKENS
    pool, name = _load_pool(order, seed, baseline)
    if baseline is None:
        parts = _draw_parts(pool, len(loads), order.requests or REQUESTS, seed)
    else:
        parts = tuple(_same_part(pool, baseline, load, order.requests) for load in loads)
    warm = sum(WARM_UP_EACH * load.concurrency for load in loads)
    # Salted copies: what warms up is not what is measured, and there may be few prompts.
    extra = draw(pool, len(pool) + warm, seed=seed, may_repeat=True)[len(pool) :]
    generation = Generation(
        max_tokens=most, streams=True, ignores_eos=eos, min_tokens=most if eos else None
    )
    visits = _count_visits(loads, min(map(len, parts)), is_in_turn=is_in_turn)
    return Plan(loads, parts, extra, generation, name, seed, visits, order.budget_s), generation


def _load_pool(
    order: ProbeOrder, seed: int, baseline: Arm | None
) -> tuple[tuple[Prompt, ...], str]:
    """What prompts are drawn from, and a name for all of them."""
    if order.prompts is not None:
        own = load_prompts(order.prompts).prompts
        return own, f"{order.prompts.name} {digest_of(own)}"
    asked = {r.category for cell in baseline.cells for r in cell.requests} if baseline else set()
    categories = order.categories or tuple(sorted(asked & {*CATEGORIES})) or WRITTEN
    return load_set(categories, seed=seed), f"built-in {digest_of(load_builtin())}"


def _draw_parts(
    pool: tuple[Prompt, ...], loads: int, requests: int, seed: int
) -> tuple[tuple[Prompt, ...], ...]:
    drawn = draw(pool, requests * loads, seed=seed)
    return tuple(drawn[number * requests :][:requests] for number in range(loads))


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


def _count_visits(loads: tuple[Load, ...], requests: int, *, is_in_turn: bool) -> int:
    """In how many parts a load is asked, each with a request for every stream.

    In turn there is an even number, as many of one arm first as of the other.
    """
    most = requests // max(2, *(load.concurrency for load in loads))
    if is_in_turn:
        return max(2, min(PARTS_IN_TURN, most) // 2 * 2)
    return max(1, min(PARTS_ALONE, most))
