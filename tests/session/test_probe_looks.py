"""Which loads a probe goes on asking once another one is decided."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from firedup.core.measure.measured import Cell, Load, Request
from firedup.core.measure.sequential import Side
from firedup.session.probe import Probed, Standing, probe
from firedup.session.probeplan import ProbeOrder, make_plan
from firedup.session.side import Opening
from firedup.store.probe import load_probe, save_probe
from tests.probe.speaker import speak
from tests.session.test_probing import serving

ONE, TWO = Load(1), Load(2)
S = 1_000_000_000


def count_asked(found: Probed, load: Load) -> int:
    cell = found.candidate.at(load)
    assert cell is not None
    return len({request.prompt for request in cell.requests})


def slow(one: Request) -> Request:
    """The same answer in a hundred seconds."""
    return replace(one, last_ns=(one.first_ns or 0) + 100 * S)


def failed(one: Request) -> Request:
    return replace(one, error="it was not answered")


async def test_a_decided_load_is_not_asked_on_and_the_others_are(tmp_path: Path) -> None:
    order = ProbeOrder("", loads=(ONE, TWO), requests=24, max_tokens=8)
    told: list[Standing] = []
    async with speak(serving(None)) as speaker:
        order = replace(order, target=speaker.url)
        plain = await probe(order, Opening(), tmp_path, tell=told.append)
        stored = load_probe(plain.kept[0])
        first, second = stored.arm.cells
        # Of one load the baseline is certainly slower, of the other nobody can say.
        arm = replace(
            stored.arm,
            cells=(
                Cell(ONE, tuple(map(slow, first.requests))),
                Cell(TWO, tuple(map(failed, second.requests))),
            ),
        )
        save_probe(tmp_path, replace(stored, id="20261130-000000-aaaa", arm=arm))
        told.clear()
        order = replace(order, baseline="20261130-000000-aaaa")
        found = await probe(order, Opening(), tmp_path, tell=told.append)

    assert count_asked(plain, ONE) >= 24
    assert count_asked(found, ONE) < 24
    assert count_asked(found, TWO) >= 24
    assert found.judged is not None
    assert [one.side for one in found.judged.decisions] == [Side.FASTER]
    assert [one.load for one in found.judged.unmeasured] == [TWO]
    assert found.is_cut_short
    assert told[-1].answered == told[-1].planned < told[0].planned


def test_a_high_load_takes_no_looks_from_a_low_one() -> None:
    loads = (Load(1), Load(8), Load(32))
    order = ProbeOrder("x", loads=loads)

    alone, _ = make_plan(order, None)
    in_turn, _ = make_plan(order, None, is_in_turn=True)

    assert alone.visits == (6, 5, 1)
    assert in_turn.visits[0] == 12
    assert in_turn.visits[2] == 2
    for plan in (alone, in_turn):
        for number, prompts in enumerate(plan.prompts):
            parts = [plan.part(number, visit) for visit in range(plan.rounds)]
            assert sorted(p.id for part in parts for p in part) == sorted(p.id for p in prompts)
            assert parts[plan.visits[number] :] == [()] * (plan.rounds - plan.visits[number])
