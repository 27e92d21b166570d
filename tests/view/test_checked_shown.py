"""What `firedup check` shows: the heading names what is at fault, each line what happens there."""

from __future__ import annotations

import pytest

from firedup.core.checked import Checked, CheckFinding, Consequence, Fixed, Harm
from firedup.core.model import Evidence
from firedup.view.checked import render_checked
from firedup.view.fixed import render_fixed
from firedup.view.paper import Paper
from firedup.view.unfit import name_fault

PAPER = Paper(columns=80, has_colour=False)


def finding(ident: str, subject: str, *found: Consequence, harm: Harm = Harm.CRASH) -> CheckFinding:
    return CheckFinding(ident, harm, subject, "It is so.", (Evidence("file", "a"),), found)


BROKEN_TARGET = finding("checkpoint-incomplete", "target")
NO_DRAFTER = finding("weights-not-found", "draft")


@pytest.mark.parametrize(
    ("findings", "said"),
    [
        ([finding("fc-width-wrong", "draft")], "the drafter does not fit"),
        ([BROKEN_TARGET], "the target is not whole"),
        ([BROKEN_TARGET, finding("fc-width-wrong", "draft")], "the target is not whole"),
        ([finding("lfs-pointer", "draft")], "the drafter is not whole"),
        ([BROKEN_TARGET, NO_DRAFTER], "neither target nor drafter is whole"),
        ([NO_DRAFTER], "no drafter was found"),
        ([finding("weights-not-found", "target"), NO_DRAFTER], "no models were found"),
        ([finding("x", "flags")], "the launch flags do not fit"),
        ([finding("x", "flags"), finding("y", "draft")], "the drafter does not fit"),
        ([finding("x", "draft", harm=Harm.RISK), finding("y", "flags")], "the launch flags do not"),
        ([finding("target-without-capture", "target")], "the target does not fit"),
    ],
)
def test_the_heading_names_what_is_at_fault(findings: list[CheckFinding], said: str) -> None:
    shown = render_checked(Checked("t", "d", None, None, tuple(findings)), PAPER)

    assert name_fault(findings).startswith(said)
    assert shown.startswith(f"✗ {said}")


def test_a_drafter_whose_weights_are_not_read_is_not_called_good() -> None:
    unread = finding("weights-not-read", "draft", harm=Harm.RISK)
    of_target = finding("weights-not-read", "target", harm=Harm.NOTE)

    shown = render_checked(Checked("t", "d", None, None, (unread,)), PAPER)
    other = render_checked(Checked("t", "d", None, None, (of_target,)), PAPER)

    assert shown.startswith("! the drafter's weights were not read")
    assert other.startswith("✓ nothing speaks against this drafter")


def test_an_engine_that_does_less_than_the_heading_says_is_told_apart() -> None:
    found = finding(
        "tensor-missing",
        "draft",
        Consequence("sglang", "", Harm.SILENT_LOSS, "starts without a word"),
        Consequence("vllm", "<0.9", Harm.SILENT_LOSS, "starts without a word"),
        Consequence("vllm", ">=0.9", Harm.CRASH, "ends"),
        Consequence("llama-cpp", "", Harm.NOTE, "ends"),
    )

    shown = render_checked(Checked("t", "d", None, None, (found,)), PAPER)
    of_one = render_checked(Checked("t", "d", "vllm", None, (found,)), PAPER)

    assert "    sglang, vllm <0.9 (silent loss): starts without a word\n" in shown
    assert "    vllm >=0.9: ends\n" in shown
    assert "    llama-cpp (note): ends" in shown
    assert "    <0.9 (silent loss): starts" in of_one


def test_a_copy_is_not_blamed_for_a_target_that_is_not_whole() -> None:
    shown = render_fixed(Fixed("out", ("done",), (BROKEN_TARGET,)), PAPER)

    assert shown.startswith("✗ the copy is corrected, but the target is not whole\n")


def test_a_damaged_drafter_is_not_called_one_that_cannot_be_corrected() -> None:
    damaged = render_fixed(Fixed(None, (), (finding("lfs-pointer", "draft"),)), PAPER)
    wrong = render_fixed(Fixed(None, (), (finding("fc-width-wrong", "draft"),)), PAPER)

    assert damaged.startswith("✗ nothing was corrected: the drafter is not whole\n")
    assert "  lfs-pointer: It is so.\n    a" in damaged  # its evidence
    risky = render_fixed(Fixed(None, (), (finding("x", "draft", harm=Harm.RISK),)), PAPER)
    assert risky.startswith("! nothing could be corrected without guessing\n")
    assert wrong.startswith("✗ nothing could be corrected without guessing\n")
