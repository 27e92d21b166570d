"""Whether a measurement can be believed: checks of what was measured against itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from firedup.core.measure.measured import Arm, Cell, Request
from firedup.core.measure.sameness import compare_answers, find_loop
from firedup.core.measure.simulated import is_made_up
from firedup.core.measure.truthanswer import check_answers
from firedup.core.measure.truthcount import Doubt, check_counts
from firedup.core.measure.truthgap import check_gaps
from firedup.core.measure.warmup import find_warm_up
from firedup.core.model import Evidence, Finding
from firedup.core.word import Severity

_MANY_LOOPS = 0.2  # of the answers: fewer hardly move the mean
_SEVERAL = 1.05  # tokens an event: single ones have several now and then
_EARLY = 0.5  # of the answers differ: more than rounding explains


def check_truth(candidate: Arm, baseline: Arm | None = None) -> tuple[Finding, ...]:
    """What speaks against the figures, or has to be known of them; the gravest first.

    The same doubt under several loads is one finding with an observation of each.
    """
    arms = (candidate,) if baseline is None else (baseline, candidate)
    told: list[tuple[str, Doubt]] = []
    for arm in arms:
        told += [(arm.name, doubt) for doubt in _check_way(arm)]
        for cell in arm.cells:
            name = f"{arm.name}, {cell.load.word}"
            told += [
                (name, doubt) for doubt in _check_cell(arm, cell, is_candidate=arm is candidate)
            ]
    if baseline is not None:
        for cell in candidate.cells:
            other = baseline.at(cell.load)
            if other is not None:
                told += [(f"load {cell.load.word}", one) for one in _check_answers(other, cell)]
    order = list(Severity)
    return tuple(sorted(_gather(told), key=lambda one: order.index(one.severity)))


def _gather(told: Iterable[tuple[str, Doubt]]) -> list[Finding]:
    found: dict[str, Finding] = {}
    for place, doubt in told:
        seen = Evidence(place, doubt.observed)
        past = found.get(doubt.id)
        if past is None:
            # Of a note only the sentence is shown.
            is_note = doubt.severity is Severity.NOTE
            says = f"{doubt.says} ({doubt.observed})" if is_note else doubt.says
            found[doubt.id] = Finding(doubt.id, doubt.severity, says, (seen,), doubt.remedy)
        else:
            found[doubt.id] = replace(past, evidence=(*past.evidence, seen))
    return list(found.values())


def _check_way(arm: Arm) -> Iterator[Doubt]:
    if arm.conditions.client == "tunnel":
        yield Doubt(
            "through-tunnel",
            Severity.WARNING,
            "a tunnel lies between client and server: its delay is part of the time to the first"
            " token, and no answer comes faster than the link lets it",
            "no client could run on the server's host",
            "Compare it with what went through the same tunnel alone, or install Python 3.11 or"
            " later there.",
        )


def _check_cell(arm: Arm, cell: Cell, *, is_candidate: bool) -> Iterator[Doubt]:
    kept = cell.kept
    yield from check_answers(cell)
    yield from check_counts(arm, cell, is_candidate=is_candidate)
    yield from _check_warm_up(cell)
    yield from check_gaps(arm, kept)
    yield from _check_loops(cell)
    yield from _check_pieces(kept)
    yield from _check_ends(arm, kept)


def _check_warm_up(cell: Cell) -> Iterator[Doubt]:
    first = [request for request in cell.requests if request.block == 0]
    found = find_warm_up(first, cell.load.concurrency if cell.load.rate is None else 1)
    if not found.has_settled:
        yield Doubt(
            "still-warming-up",
            Severity.WARNING,
            "times had not settled when a third of the requests was answered",
            found.why,
            "Ask more (--requests), or ask once and measure again: caches and kernels stay warm.",
        )


def _check_loops(cell: Cell) -> Iterator[Doubt]:
    kept = cell.kept
    found = {(one.prompt, one.turn): find_loop(one.text) for one in kept}
    loops = {key: said for key, said in found.items() if said is not None}
    if not kept or len(loops) < max(2, _MANY_LOOPS * len(kept)):
        return
    observed = f"{len(loops)} of {len(kept)} answers end in a loop, such as {_quote(loops)}"
    inside = _length([one for one in kept if (one.prompt, one.turn) in loops])
    outside = _length([one for one in kept if (one.prompt, one.turn) not in loops])
    if inside is not None and outside is not None:
        observed += f"; acceptance length {inside:.2f} in these, {outside:.2f} in the others"
    has_length = cell.acceptance is not None and cell.acceptance.length is not None
    yield Doubt(
        "answers-loop",
        Severity.WARNING if has_length else Severity.NOTE,
        "answers go round in circles, which any drafter guesses: "
        + ("acceptance is too high" if has_length else "what one is worth is not seen by these"),
        observed,
        "Measure acceptance with natural ends (--natural), or with fewer tokens (--max-tokens).",
    )


def _quote(loops: dict[tuple[str, int], str]) -> str:
    (prompt, _), said = next(iter(loops.items()))
    return f"{prompt} with {said[:40]!r}"


def _length(requests: Sequence[Request]) -> float | None:
    counts = [one.counts for one in requests if one.counts is not None]
    steps = sum(one.steps for one in counts)
    return 1 + sum(one.accepted for one in counts) / steps if steps else None


def _check_pieces(kept: Sequence[Request]) -> Iterator[Doubt]:
    told = [one for one in kept if one.tokens is not None and one.events > 0]
    events, tokens = sum(one.events for one in told), sum(one.tokens or 0 for one in told)
    if events and tokens > _SEVERAL * events:
        most = max((one.most_tokens for one in told if one.most_tokens is not None), default=None)
        yield Doubt(
            "several-tokens-an-event",
            Severity.NOTE,
            "tokens come several in a piece; times are per token as the server counts them,"
            " and waits between pieces are no times between tokens",
            f"{tokens / events:.2f} tokens a piece" + (f", {most} at most" if most else ""),
        )


def _check_ends(arm: Arm, kept: Sequence[Request]) -> Iterator[Doubt]:
    most = arm.conditions.max_tokens
    short = [one for one in kept if one.tokens is not None and most and one.tokens < most]
    if arm.conditions.ignores_eos:
        ended = [one for one in short if one.finish != "length"]
        if ended:
            yield Doubt(
                "ends-not-as-asked",
                Severity.WARNING,
                "answers ended by themselves although the end token was to be ignored,"
                " so that lengths differ between arms",
                f"{len(ended)} of {len(kept)} answers, one after {ended[0].tokens} of {most}"
                f" tokens ({ended[0].finish or 'no reason given'})",
                "The server may not know `ignore_eos`; --engine says what it is.",
            )
        return
    cut = sum(one.finish == "length" for one in kept)
    if cut:
        yield Doubt(
            "ends-cut",
            Severity.NOTE,
            "answers were cut before their natural end",
            f"{cut} of {len(kept)} at {most} tokens",
            "Raise --max-tokens if acceptance is to be that of whole answers.",
        )


def _check_answers(baseline: Cell, candidate: Cell) -> Iterator[Doubt]:
    if is_made_up(candidate.acceptance):
        return  # what a server makes up is no answer
    found = compare_answers(baseline, candidate)
    if not found.all:
        return
    if found.prompt is None:
        yield Doubt(
            "answers-equal",
            Severity.NOTE,
            "greedy answers of both arms are the same, as they must be",
            f"{found.all} of {found.all}",
        )
        return
    differing = found.all - found.equal
    is_much = differing > _EARLY * found.all
    yield Doubt(
        "answers-differ",
        Severity.WARNING if is_much else Severity.NOTE,
        "greedy answers of the two arms differ"
        + (
            " in most prompts: look whether both serve the same model in the same way"
            if is_much
            else ", as rounding explains: a step that verifies several tokens, or a batch of"
            " another size, adds in another order, and near ties fall otherwise"
        ),
        f"{differing} of {found.all}; {found.prompt} from character {found.at} on:"
        f" {found.left!r} and {found.right!r}",
        "Ask the baseline twice: answers that differ from themselves say nothing of the drafter."
        if is_much
        else None,
    )
