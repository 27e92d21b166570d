"""The table of a probe: a block for each load, whatever loads each arm was measured under."""

from __future__ import annotations

import pytest

from firedup.core.measure.figures import figures_of
from firedup.core.measure.measured import Arm, Cell, Conditions, Load, Request
from firedup.core.model import Acceptance
from firedup.view.paper import Paper, count_columns
from firedup.view.probed import record_probe
from firedup.view.probetable import render_probe
from firedup.view.record import render_json

_MS = 1_000_000


def _cell(load: Load, ms_per_token: int, acceptance: Acceptance | None = None) -> Cell:
    """Eight answers of 11 tokens each, the first of which comes with the prefill."""
    requests = tuple(
        Request(
            f"code-{number}",
            "code",
            begun_ns=number * 1000 * _MS,
            first_ns=(number * 1000 + 50) * _MS,
            last_ns=(number * 1000 + 50 + 10 * ms_per_token) * _MS,
            tokens=11,
            events=11,
        )
        for number in range(8)
    )
    return Cell(load, requests, acceptance=acceptance)


def _render(paper: Paper, *arms: Arm) -> list[str]:
    return render_probe([(arm, [figures_of(cell) for cell in arm.cells]) for arm in arms], paper)


def _show(*arms: Arm) -> list[str]:
    return [line.strip() for line in _render(Paper(100), *arms)]


def _block(lines: list[str], title: str) -> list[str]:
    rest = lines[lines.index(title) + 1 :]
    return rest[: rest.index("")] if "" in rest else rest


def test_each_load_stands_beside_the_same_load_of_the_other_arm() -> None:
    one, eight = Load(1), Load(8)
    baseline = Arm("baseline", Conditions(), (_cell(one, 10), _cell(eight, 20)), 0)
    candidate = Arm("candidate", Conditions(), (_cell(eight, 40),), 0)

    lines = _show(baseline, candidate)

    alone, together = _block(lines, "one stream"), _block(lines, "8 streams at a time")
    assert alone[0].split() == ["baseline"]
    assert "100.0" in alone[1]
    assert together[0].split() == ["baseline", "candidate"]
    assert "50.0" in together[1]
    assert "25.0" in together[1]


def test_a_load_that_only_the_later_arm_has_is_shown_too() -> None:
    baseline = Arm("baseline", Conditions(), (_cell(Load(1), 10),), 0)
    candidate = Arm("candidate", Conditions(), (_cell(Load(1), 5), _cell(Load(8), 40)), 0)

    lines = _show(baseline, candidate)

    assert _block(lines, "8 streams at a time")[0].split() == ["candidate"]


def test_by_what_acceptance_is_known_is_said_though_the_baseline_has_none() -> None:
    none = Acceptance(None, None, why_not="the server does not speculate")
    own = Acceptance(2.5, None, source="the requests' own counters")
    baseline = Arm("baseline", Conditions(), (_cell(Load(1), 10, none),), 0)
    candidate = Arm("candidate", Conditions(), (_cell(Load(1), 5, own),), 0)

    lines = _show(baseline, candidate)

    assert "acceptance by the requests' own counters" in lines
    assert not any("does not speculate" in line for line in lines)


def test_a_key_among_the_flags_or_variables_is_not_told() -> None:
    conditions = Conditions(
        flags=("vllm", "serve", "--api-key", "hunter-two", "--tp", "8"),
        environment={"VLLM_API_KEY": "hunter-three", "NCCL_ALGO": "Tree"},
    )

    told = render_json(record_probe(Arm("baseline", conditions, (), 0), []))

    assert "hunter" not in told
    assert '"--tp", "8"' in told
    assert '"NCCL_ALGO": "Tree"' in told


def test_what_a_server_says_cannot_steer_the_terminal() -> None:
    made_up = Acceptance(None, None, why_not="simulated: \x1b[2Jgone")
    arm = Arm("candidate", Conditions(), (_cell(Load(1), 10, made_up),), 0)

    lines = _show(arm)

    assert any("simulated" in line for line in lines)
    assert not any("\x1b" in line for line in lines)


@pytest.mark.parametrize("columns", [80, 60, 44])
def test_a_table_fits_where_it_is_shown(columns: int) -> None:
    own = Acceptance(2.5, None, source="the server's counters between the requests")
    cells = (_cell(Load(1), 10, own),)
    arms = [Arm(name, Conditions(), cells, 0) for name in ("baseline", "candidate")]

    lines = _render(Paper(columns), *arms)

    assert max(map(count_columns, lines)) <= columns
    assert sum("100.0 (" in line for line in lines) == (1 if columns == 80 else 2)


def test_a_server_that_has_no_drafter_is_said_to_have_none() -> None:
    for why in ("the server does not speculate", "not one draft was verified"):
        cells = (_cell(Load(1), 10, Acceptance(None, None, why_not=why)),)
        arm = Arm("plain", Conditions(flags=("serve", "--tp", "8")), cells, 0)
        drafted = Arm("plain", Conditions(flags=("serve", "--spec-type", "eagle")), cells, 0)

        assert "no acceptance length: no drafter" in _show(arm)
        assert f"no acceptance length: {why}" in _show(drafted)
