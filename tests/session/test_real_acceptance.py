"""A real llama.cpp that makes acceptance up: what it was told is measured, and refused."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from workbench import Site, until

from firedup.core.measure.accepted import positions_of_cell
from firedup.core.measure.figures import figures_of
from firedup.core.measure.measured import Load
from firedup.core.measure.truth import check_truth
from firedup.core.model import Verdict
from firedup.demo.engine import engine_command
from firedup.demo.model import TARGET, TRAINED, model_path
from firedup.session.probe import probe
from firedup.session.probeplan import ProbeOrder
from firedup.session.side import Opening
from firedup.session.stepcost import read_step_costs
from tests.port import free_port

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(300),
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="firedup[demo] is not installed"),
]


# What the server says of a length of 2.5 at three draft tokens: so often is each accepted.
RATES = (0.691, 0.478, 0.331)


async def serve(site: Site, name: str, draft_tokens: int, length: str = "2") -> str:
    """The address of a server that gives so many tokens a step by the dice."""
    port = str(free_port())
    target = ("-m", str(model_path(TARGET)), "-t", "1", "-c", "4096", "--metrics", "--port", port)
    drafter = ("-md", str(model_path(TRAINED)), "--spec-type", str(TRAINED.speculation))
    dice = ("--spec-draft-n-max", str(draft_tokens), "--spec-synth-len", length)
    run = await site.launch(engine_command(*target, *drafter, *dice), name=name)
    await until(site.watch(run), lambda now: now.explanation.verdict is Verdict.READY)
    return f"127.0.0.1:{port}"


async def test_what_was_asked_for_is_measured_and_not_taken_for_the_drafters(
    site: Site, tmp_path: Path
) -> None:
    address = await serve(site, "dice", 3, "2.5")
    order = ProbeOrder("dice", None, (Load(1),), requests=14, max_tokens=96)

    by_address = await probe(
        ProbeOrder(address, None, (Load(1),), requests=14, max_tokens=96),
        Opening(),
        tmp_path,
        tell=lambda _: None,
    )
    by_run = await probe(order, Opening(), tmp_path, tell=lambda _: None)

    seen, refused = by_address.candidate.cells[0], by_run.candidate.cells[0]
    assert seen.acceptance is not None
    assert seen.acceptance.source == "the server's counters between the requests"
    # Over 500 steps the dice have a standard error of 0.05; the last step of an answer is cut.
    assert seen.acceptance.length == pytest.approx(2.5, abs=0.25)
    positions = positions_of_cell(seen, 3)
    assert positions is not None
    assert positions.reached == pytest.approx(RATES, abs=0.1)
    assert refused.acceptance is not None
    assert refused.acceptance.length is None
    assert "--spec-synth-len 2.5" in str(refused.acceptance.why_not)
    figures = figures_of(refused).whole
    assert figures.acceptance_length is None
    assert figures.step_s is not None
    assert "acceptance-simulated" in {one.id for one in check_truth(by_run.candidate)}


async def test_the_cost_of_a_step_follows_from_made_up_acceptance(
    site: Site, tmp_path: Path
) -> None:
    found = []
    for draft_tokens in (1, 5):
        name = f"dice-{draft_tokens}"
        await serve(site, name, draft_tokens)
        order = ProbeOrder(name, None, (Load(1),), requests=8, max_tokens=48)
        found.append(await probe(order, Opening(), tmp_path, tell=lambda _: None))

    costs = read_step_costs(tmp_path, found[-1].candidate)

    assert [point.draft_tokens for point in costs[0].points] == [1, 5]
    assert costs[0].best is None
    assert costs[0].base_s + 5 * costs[0].per_token_s > 0
