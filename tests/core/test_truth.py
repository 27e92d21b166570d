"""Checks of what was measured against itself: what each one sees, and what it lets pass."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firedup.core.measure.acceptance import Counts
from firedup.core.measure.accepted import evidence_of
from firedup.core.measure.counter import Rise
from firedup.core.measure.measured import Arm, Cell, Conditions, Load, Request
from firedup.core.measure.rival import Rival, list_rivals
from firedup.core.measure.truth import check_truth
from firedup.core.model import Acceptance, Finding
from firedup.core.word import Severity

MS = 1_000_000
PROSE = "The lamp stood on the table, and nobody in the house knew who had lit it, or when. "
OWN = "the requests' own counters"


def make_request(number: int, text: str = PROSE, counts: Counts | None = None) -> Request:
    """Forty tokens, 10 ms each, in as many pieces."""
    begun = number * 1000 * MS
    return Request(
        f"chat-{number}",
        "chat",
        begun,
        begun + 20 * MS,
        begun + 410 * MS,
        12,
        40,
        40,
        1,
        1,
        counts=counts,
        finish="length",
        text=f"{number} {text}",
    )


def make_arm(
    name: str,
    requests: list[Request],
    acceptance: Acceptance | None = None,
    rise: Rise | None = None,
    conditions: Conditions | None = None,
) -> Arm:
    known = conditions or Conditions(max_tokens=40, draft_tokens=3)
    return Arm(name, known, (Cell(Load(1), tuple(requests), rise, acceptance),), 0)


def drafted(counts: Counts, text: str = PROSE) -> Arm:
    requests = [make_request(n, text, counts) for n in range(12)]
    length = 1 + counts.accepted / counts.steps
    return make_arm("candidate", requests, Acceptance(length, 0.5, source=OWN))


def ids(findings: tuple[Finding, ...]) -> list[str]:
    return [finding.id for finding in findings]


GOOD = Counts(20, 60, 19, (11, 6, 2))


def test_a_sound_measurement_is_only_told_that_its_answers_are_equal() -> None:
    baseline = make_arm("baseline", [make_request(n) for n in range(12)])

    assert ids(check_truth(drafted(GOOD))) == []
    found = check_truth(drafted(GOOD), baseline)
    assert ids(found) == ["answers-equal"]
    assert "12 of 12" in found[0].message


@pytest.mark.parametrize(("differing", "severity"), [(2, Severity.NOTE), (9, Severity.WARNING)])
def test_answers_that_differ_are_shown_where_they_begin_to(
    differing: int, severity: Severity
) -> None:
    other = PROSE.replace("nobody", "somebody")
    texts = [other if n < differing else PROSE for n in range(12)]
    baseline = make_arm("baseline", [make_request(n, text) for n, text in enumerate(texts)])

    found = check_truth(drafted(GOOD), baseline)

    assert ids(found) == ["answers-differ"]
    assert found[0].severity is severity
    said = found[0].evidence[0].text
    assert said.startswith(f"{differing} of 12; chat-0 from character 35 on")
    assert "somebody" in said


def test_an_answer_that_ends_a_token_later_is_the_same() -> None:
    baseline = make_arm("baseline", [make_request(n, PROSE + " And then") for n in range(12)])

    assert ids(check_truth(drafted(GOOD), baseline)) == ["answers-equal"]


def test_loops_are_told_with_what_they_do_to_acceptance() -> None:
    looping = [make_request(n, "so it was " * 30, Counts(10, 30, 29)) for n in range(6)]
    others = [make_request(n, PROSE, GOOD) for n in range(6, 12)]
    arm = make_arm("candidate", looping + others, Acceptance(2.0, 0.5, source=OWN))

    found = check_truth(arm)

    assert ids(found) == ["answers-loop"]
    assert "6 of 12" in found[0].evidence[0].text
    assert "3.90 in these, 1.95 in the others" in found[0].evidence[0].text
    assert "acceptance is too high" in found[0].message


def test_loops_of_a_server_without_a_drafter_are_a_note() -> None:
    (found,) = check_truth(
        make_arm("server", [make_request(n, "so it was " * 30) for n in range(6)])
    )

    assert (found.id, found.severity) == ("answers-loop", Severity.NOTE)
    assert "acceptance is too high" not in found.message


def test_a_drafter_of_which_nothing_is_accepted_is_wrong_and_not_weak() -> None:
    found = check_truth(drafted(Counts(39, 117, 0, (0, 0, 0))))

    assert [(one.id, one.severity) for one in found] == [("nothing-accepted", Severity.SEVERE)]
    assert "468 steps" in found[0].evidence[0].text


def test_acceptance_of_everything_is_not_believed() -> None:
    assert "everything-accepted" in ids(check_truth(drafted(Counts(10, 30, 30, (10, 10, 10)))))


def test_a_drafter_that_is_not_used_is_told() -> None:
    why_not = Acceptance(None, None, why_not="the server does not speculate")
    given = Conditions(max_tokens=40, drafter="eagle3.gguf")
    requests = [make_request(n) for n in range(12)]

    assert ids(check_truth(make_arm("candidate", requests, why_not, None, given))) == [
        "speculation-off"
    ]
    assert ids(check_truth(make_arm("candidate", requests, why_not))) == []


@pytest.mark.parametrize(
    ("why_not", "expected"),
    [
        ("the server's acceptance is simulated: --spec-synth-len 2.5", "acceptance-simulated"),
        ("the server's counters began anew while it was measured", "server-restarted"),
    ],
)
def test_what_makes_acceptance_void_is_severe(why_not: str, expected: str) -> None:
    requests = [make_request(n, counts=GOOD) for n in range(12)]

    found = check_truth(make_arm("candidate", requests, Acceptance(None, None, why_not=why_not)))

    assert [(one.id, one.severity) for one in found] == [(expected, Severity.SEVERE)]


@pytest.mark.parametrize(("generated", "is_told"), [(480, False), (492, False), (900, True)])
def test_tokens_that_others_were_given_are_told(generated: int, is_told: bool) -> None:
    requests = [make_request(n) for n in range(12)]
    arm = make_arm("baseline", requests, None, Rise(None, generated, own=480))

    found = check_truth(arm)

    assert ("other-load" in ids(found)) is is_told
    if is_told:
        assert "420 of 900" in found[0].evidence[0].text


def test_steps_without_a_draft_are_told_with_tokens_a_step_in_all() -> None:
    # What a real vLLM counted with n-grams: 480 tokens of 6 answers, 92 drafts, 100 accepted.
    counts = Counts(92, 242, 100, (58, 28, 11, 3))
    requests = [replace(make_request(n), tokens=80, events=80) for n in range(6)]
    acceptance = Acceptance(1 + 100 / 92, None, source="the server's counters")
    rise = Rise(counts, 480, own=480)
    arm = make_arm("candidate", requests, acceptance, rise, Conditions(max_tokens=80))

    found = check_truth(arm)

    assert ids(found) == ["steps-without-draft"]
    said = found[0].evidence[0].text
    assert said == "282 of 374 steps; 1.27 tokens a step in all, 2.09 in those with a draft"


def test_answers_that_ended_early_are_told_when_they_were_not_to() -> None:
    ended = replace(make_request(0, counts=GOOD), tokens=31, finish="stop")
    requests = [ended, *(make_request(n, counts=GOOD) for n in range(1, 12))]
    natural = Conditions(max_tokens=40, draft_tokens=3, ignores_eos=False)
    accepted = Acceptance(1.95, 0.3, source=OWN)

    found = check_truth(make_arm("candidate", requests, accepted))
    as_asked = check_truth(make_arm("candidate", requests, accepted, None, natural))

    assert ids(found) == ["ends-not-as-asked"]
    assert "after 31 of 40 tokens (stop)" in found[0].evidence[0].text
    assert ids(as_asked) == ["ends-cut"]


def test_several_tokens_a_piece_are_stated() -> None:
    requests = [replace(make_request(n, counts=GOOD), events=20, most_tokens=4) for n in range(12)]
    arm = make_arm("candidate", requests, Acceptance(1.95, 0.3, source=OWN))

    found = check_truth(arm)

    assert ids(found) == ["several-tokens-an-event"]
    assert "2.00 tokens a piece, 4 at most" in found[0].message


def test_times_that_never_settle_are_told() -> None:
    requests = []
    for number in range(12):
        one = make_request(number, counts=GOOD)
        assert one.first_ns is not None
        slow = 4000 - 800 * number if number < 5 else 390
        requests.append(replace(one, last_ns=one.first_ns + max(slow, 390) * MS))
    arm = make_arm("candidate", requests, Acceptance(1.95, 0.3, source=OWN))

    assert ids(check_truth(arm)) == ["still-warming-up"]


def test_the_same_doubt_under_two_loads_is_one_finding() -> None:
    arm = drafted(Counts(39, 117, 0, (0, 0, 0)))
    both = replace(arm, cells=(*arm.cells, replace(arm.cells[0], load=Load(8))))

    found = check_truth(both)

    assert ids(found) == ["nothing-accepted"]
    assert [one.kind for one in found[0].evidence] == ["candidate, 1", "candidate, 8"]


def test_measured_positions_exclude_rivals_and_made_up_ones_do_not() -> None:
    arm = drafted(Counts(20, 60, 31, (14, 10, 7)))
    made_up = replace(arm.cells[0], acceptance=Acceptance(None, None, why_not="simulated"))

    told = {c.rival: c.excluded_by for c in list_rivals(2.55, evidence_of(arm))}
    silent = {
        c.rival: c.excluded_by
        for c in list_rivals(2.55, evidence_of(replace(arm, cells=(made_up,))))
    }

    assert told[Rival.VOCABULARY_MAP] == "70 % of drafts are accepted at the first position"
    assert told[Rival.NORMS] is not None
    assert set(silent.values()) == {None}


def test_a_server_that_drafts_less_where_less_is_accepted_is_told() -> None:
    known = Conditions(max_tokens=40, draft_tokens=3, adapts=True)
    arm = replace(drafted(GOOD), conditions=known)

    (found,) = check_truth(arm)

    assert (found.id, found.severity) == ("draft-length-adapts", Severity.NOTE)
    assert "up to 3 draft tokens" in found.message


def stalled(number: int, gap_ms: int, **more: object) -> Request:
    """As others, with one wait in its middle, 100 ms after it was asked."""
    one = make_request(number)
    assert one.last_ns is not None
    at = one.begun_ns + 100 * MS
    last = one.last_ns + (gap_ms - 10) * MS
    return replace(one, last_ns=last, longest_gap_ns=gap_ms * MS, gap_at_ns=at, **more)  # type: ignore[arg-type]  # of several types


def test_an_answer_that_stood_still_is_named_with_its_wait_and_moment() -> None:
    requests = [stalled(n, 10) for n in range(11)] + [stalled(11, 4200, turn=2)]
    arm = replace(make_arm("candidate", requests), wall_ns=(14 * 3600 + 3 * 60) * 1000 * MS)

    (found,) = check_truth(arm)

    assert (found.id, found.severity) == ("answer-stood-still", Severity.WARNING)
    said = found.evidence[0].text
    assert said.startswith("chat-11, turn 2 waited 4.20 s between two pieces, from 0.1 s after it")
    assert "(14:03:11 UTC); 0.010 s is usual; 1 of 12" in said
    assert said.endswith("answers did so, for 47.4% of the time of decoding")


def test_a_short_wait_in_a_long_measurement_is_a_note() -> None:
    requests = [stalled(n, 10) for n in range(400)] + [stalled(400, 600)]

    assert [(one.id, one.severity) for one in check_truth(make_arm("server", requests))] == [
        ("answer-stood-still", Severity.NOTE)
    ]


def test_waits_that_are_usual_there_are_no_standstill() -> None:
    slow = [stalled(n, 490) for n in range(12)]
    few_pieces = [replace(stalled(n, 5000), events=4) for n in range(12)]

    assert check_truth(make_arm("server", slow)) == ()
    assert "answer-stood-still" not in ids(check_truth(make_arm("server", few_pieces)))


def test_turns_behind_a_different_answer_are_not_compared() -> None:
    first = [make_request(n) for n in range(12)]
    later = [replace(one, turn=2, text=f"{one.text} More.") for one in first]
    other = replace(first[0], text="Something else, and so all that follows.")
    baseline = make_arm("baseline", [*first, *later])

    (same,) = check_truth(drafted_turns([*first, *later]), baseline)
    (found,) = check_truth(
        drafted_turns([other, *first[1:], replace(later[0], text="Other."), *later[1:]]), baseline
    )

    assert "24 of 24" in same.message
    assert found.evidence[0].text.startswith("1 of 23; chat-0 from character 0 on")


def drafted_turns(requests: list[Request]) -> Arm:
    return make_arm("candidate", requests)


def test_requests_that_failed_are_counted_with_the_commonest_reason() -> None:
    good = [make_request(n) for n in range(4)]
    busy = [replace(make_request(n), error="answered 429") for n in (4, 5)]
    other = replace(make_request(6), error="the server closed the connection")
    (found,) = check_truth(make_arm("server", [*good, other, *busy]))

    assert (found.id, found.severity) == ("requests-failed", Severity.WARNING)
    assert found.evidence[0].text == "3 of 7: answered 429 (2 times)"
    assert check_truth(make_arm("server", busy)) == ()


def test_answers_without_a_count_of_tokens_are_told() -> None:
    untold = [replace(make_request(n), tokens=None) for n in range(3)]
    (found,) = check_truth(make_arm("server", untold))

    assert found.id == "tokens-untold"
    assert found.evidence[0].text == "3 of 3 answers without `usage`"


@pytest.mark.parametrize(("bursts", "says"), [(1, None), (3, "left out"), (8, "no time of theirs")])
def test_answers_in_bursts_are_told_and_what_that_means_for_the_times(
    bursts: int, says: str | None
) -> None:
    requests = [
        replace(make_request(n), arrivals=2 if n < bursts else 40, first_events=30)
        for n in range(12)
    ]
    found = [f for f in check_truth(make_arm("server", requests)) if f.id == "answers-in-bursts"]

    assert [says in one.message for one in found if says] == [True] * bool(says)
    assert [one.evidence[0].text for one in found] == [
        f"{bursts} of 12 answers, chat-0 with 40 pieces at 2 moments"
    ] * bool(says)
