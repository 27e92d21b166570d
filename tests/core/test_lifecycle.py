"""The state follows a table; the verdict follows the facts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.model import Ownership, State, Verdict
from firedup.core.verdict.lifecycle import TABLE, Facts, Lifecycle, Trigger, judge
from firedup.core.verdict.suspect import Fatality

ALIVE = Facts(has_process=True, has_begun=True)
DEAD = Facts(has_process=True, has_begun=True, has_exited=True)


def test_every_state_has_its_row() -> None:
    assert set(TABLE) == set(State)


@given(st.lists(st.sampled_from(Trigger), max_size=20))
def test_an_exit_is_for_ever(triggers: list[Trigger]) -> None:
    lifecycle = Lifecycle()
    for trigger in [Trigger.SEEN, Trigger.EXITED, *triggers]:
        lifecycle.feed(trigger)

    assert lifecycle.state is State.EXITED


@pytest.mark.parametrize("before", [Trigger.SEEN, Trigger.READY, Trigger.STOP_ASKED])
def test_a_link_that_comes_back_changes_nothing_about_the_server(before: Trigger) -> None:
    lifecycle = Lifecycle()
    state = lifecycle.feed(before)

    assert lifecycle.feed(Trigger.LINK_DOWN) is State.UNREACHED
    assert lifecycle.feed(Trigger.LINK_UP) is state


def test_a_server_without_its_keeper_is_unkept() -> None:
    lifecycle = Lifecycle()
    lifecycle.feed(Trigger.SEEN)

    assert lifecycle.feed(Trigger.KEEPER_GONE) is State.UNKEPT


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (Facts(), Verdict.UNKNOWN),
        (ALIVE, Verdict.LOADING),
        (Facts(log_ready=True, has_begun=True), Verdict.READY),  # a log alone is believed
        (replace(ALIVE, log_ready=True), Verdict.LOADING),  # a living server must prove it
        (replace(ALIVE, is_proven_ready=True), Verdict.READY),
        (replace(ALIVE, is_stalled=True), Verdict.STALLED),
        (replace(ALIVE, deadline_passed=True), Verdict.TIMED_OUT),
        (replace(ALIVE, is_lost=True), Verdict.LOST),
        (replace(ALIVE, fatality=Fatality.CERTAIN, is_proven_ready=True), Verdict.CRASHED),
        (replace(ALIVE, fatality=Fatality.LIKELY), Verdict.CRASHED),
        (
            replace(ALIVE, fatality=Fatality.LIKELY, is_fatality_settled=False),
            Verdict.LOADING,
        ),
        (replace(DEAD, code=1), Verdict.CRASHED),
        (replace(DEAD, code=0, was_ready=True), Verdict.CRASHED),  # nobody asked it to end
        (replace(DEAD, signal=9), Verdict.CRASHED),
        (replace(DEAD, signal=15), Verdict.STOPPED),
        (replace(DEAD, code=0, stop_asked=True), Verdict.STOPPED),
        (replace(DEAD, signal=9, stop_asked=True), Verdict.STOPPED),
        (DEAD, Verdict.CRASHED),  # gone, and nobody saw how
        (Facts(log_stop=True, has_begun=True, log_ready=True), Verdict.STOPPED),
        (replace(DEAD, code=0, log_stop=True, was_ready=True), Verdict.STOPPED),
        (replace(DEAD, code=1, log_stop=True), Verdict.CRASHED),  # it tidied up after a fault
        (replace(DEAD, code=1, log_stop=True, fatality=Fatality.LIKELY), Verdict.CRASHED),
        (Facts(log_ready=True, has_begun=True, is_abandoned=True), Verdict.UNKNOWN),
        (Facts(has_begun=True, is_abandoned=True), Verdict.UNKNOWN),
        (replace(ALIVE, owner=Ownership.UNKNOWN, is_proven_ready=True), Verdict.READY),
    ],
)
def test_the_strongest_fact_decides(facts: Facts, verdict: Verdict) -> None:
    assert judge(facts) is verdict
