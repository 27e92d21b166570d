"""Two real llama.cpp servers, one with a drafter: measured in turn, and against what was kept."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from workbench import Site, until

from firedup.core.measure.figures import figures_of
from firedup.core.measure.measured import Load
from firedup.core.measure.pairing import Design
from firedup.core.model import Verdict
from firedup.demo.engine import engine_command
from firedup.demo.model import TARGET, TRAINED, model_path
from firedup.session.probe import Standing, probe
from firedup.session.probeplan import ProbeOrder
from firedup.session.side import Opening
from tests.port import free_port

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(300),
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="firedup[demo] is not installed"),
]


async def serve(site: Site, *flags: str) -> str:
    """The address of a server that is ready."""
    port = str(free_port())
    target = str(model_path(TARGET))
    words = ("-m", target, "-t", "1", "-c", "4096", "--metrics", "--port", port)
    run = await site.launch(engine_command(*words, *flags))
    await until(site.watch(run), lambda now: now.explanation.verdict is Verdict.READY)
    return f"127.0.0.1:{port}"


async def test_both_arms_answer_the_same_prompts_and_only_one_has_an_acceptance_length(
    site: Site, tmp_path: Path
) -> None:
    plain = await serve(site)
    draft = ("-md", str(model_path(TRAINED)), "--spec-type", str(TRAINED.speculation))
    drafted = await serve(site, *draft)
    order = ProbeOrder(drafted, plain, (Load(1), Load(2)), requests=4, max_tokens=24)
    told: list[Standing] = []

    found = await probe(order, Opening(), tmp_path, tell=told.append)
    again = ProbeOrder(drafted, found.kept[0].stem)
    later = await probe(again, Opening(), tmp_path, tell=lambda _: None)

    assert found.baseline is not None
    assert found.design is Design.INTERLEAVED
    assert [one.answered for one in told] == list(range(1, 17))
    assert {one.planned for one in told} == {16}
    for arm in (found.baseline, found.candidate):
        assert [cell.load for cell in arm.cells] == [Load(1), Load(2)]
        for cell in arm.cells:
            assert [r.tokens for r in cell.kept] == [24] * 4
            assert {r.block for r in cell.kept} == {0, 1}
            assert not [r.error for r in cell.requests if r.error]
            assert figures_of(cell).whole.all_tokens_per_s is not None  # each alone may be a burst
    asked = [
        [sorted(r.prompt for r in cell.kept) for cell in arm.cells]
        for arm in (found.baseline, found.candidate, later.candidate)
    ]
    assert asked[0] == asked[1] == asked[2]
    assert not set(asked[0][0]) & set(asked[0][1])
    lengths = [
        arm.cells[0].acceptance.length if arm.cells[0].acceptance else None
        for arm in (found.baseline, found.candidate)
    ]
    assert lengths[0] is None
    assert lengths[1] is not None
    assert lengths[1] > 1.1
    assert later.design is Design.SEQUENTIAL
    assert later.baseline is not None
    assert later.baseline.cells == found.baseline.cells
    assert later.candidate.conditions.prompts == found.candidate.conditions.prompts
