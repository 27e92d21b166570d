"""Drafters of all layouts are found right, and each fault is found under its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from firedup.core.checked import Harm
from firedup.drafter.judge import all_checks
from tests.drafter.faults import Engine, Mutation
from tests.drafter.mutations import MUTATIONS
from tests.drafter.zoo_folder import above_note, checked_broken, checked_good, expected_ids
from tests.drafter.zoo_pairs import MAKERS, good

GOOD = [(name, engine) for name in MAKERS for engine in good(name).engines]


@pytest.mark.parametrize(("name", "engine"), GOOD, ids=[f"{n}-{e[0]}" for n, e in GOOD])
def test_a_good_drafter_of_any_layout_raises_nothing_above_a_note(
    name: str, engine: Engine
) -> None:
    checked = checked_good(name, engine)

    assert above_note(checked) == []
    assert checked.exit_status == 0
    assert [why for what, why in checked.skipped if "failed" in why] == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[m.name for m in MUTATIONS])
def test_each_fault_is_found_under_its_name_and_nothing_else_is(mutation: Mutation) -> None:
    checked = checked_broken(mutation.name)

    found = {finding.id: finding for finding in checked.findings}
    assert mutation.finding in found, found
    finding = found[mutation.finding]
    assert (finding.harm, finding.fixable) == (mutation.harm, mutation.fixable)
    assert finding.evidence
    assert finding.remedy or finding.harm is Harm.NOTE
    assert {one.id for one in above_note(checked)} <= expected_ids(mutation)
    assert [why for what, why in checked.skipped if "failed" in why] == []


def test_the_zoo_has_all_layouts_and_many_faults() -> None:
    assert len(MAKERS) >= 10
    assert len({mutation.name for mutation in MUTATIONS}) >= 30
    assert len({mutation.finding for mutation in MUTATIONS}) >= 30


# Whose faults need files that the zoo has not, and the tests that make these.
ELSEWHERE = {
    "draft-vocabulary-coverage": "test_coverage.py",
    "gguf-beside-safetensors": "test_gguf_pair.py",
    "gguf-map-holds-offsets": "test_gguf_pair.py",
    "gguf-map-out-of-range": "test_gguf_pair.py",
    "gguf-other-target": "test_gguf_pair.py",
    "gguf-streams-not-three": "test_gguf_pair.py",
    "gguf-vocabulary-differs": "test_gguf_pair.py",
    "weights-not-read": "test_values_read.py",
}


def test_each_finding_is_raised_by_a_drafter_of_the_zoo() -> None:
    known = {ident for check in all_checks() for ident in check.ids}
    raised = {mutation.finding for mutation in MUTATIONS}
    raised |= {f.id for name in MAKERS for f in checked_good(name, None).findings}
    folder = Path(__file__).parent

    assert known - raised - set(ELSEWHERE) == set()
    assert set(ELSEWHERE) <= known
    for ident, file in ELSEWHERE.items():
        assert f'"{ident}"' in (folder / file).read_text(encoding="utf-8"), ident


def test_what_a_fault_costs_depends_on_the_engine() -> None:
    in_vllm = checked_broken("embed-random")
    in_sglang = checked_broken("embed-random-unused")

    assert [f.harm for f in in_vllm.findings if f.id == "embedding-differs"] == [Harm.SILENT_LOSS]
    assert [f.harm for f in in_sglang.findings if f.id == "embedding-differs"] == [Harm.NOTE]


def test_evidence_names_file_tensor_shape_and_value() -> None:
    checked = checked_broken("d2t-ids")

    (finding,) = above_note(checked)
    first = finding.evidence[0].text
    assert "model.safetensors: d2t [64] I64" in first
    assert "largest 190, 192 tokens" in first


def test_a_copied_head_proves_the_map() -> None:
    from tests.drafter.zoo_pairs import VLLM

    checked = checked_good("speculators", VLLM)

    assert "head-rows-copied" in {finding.id for finding in checked.findings}
    assert {finding.harm for finding in checked.findings} == {Harm.NOTE}
