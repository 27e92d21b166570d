"""Counters of speculative decoding → acceptance length and rate, by one definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest

from firedup.core.measure.exposition import MetricSample
from firedup.core.model import Acceptance

# vLLM and llama.cpp share the names behind the prefix. Source: vllm/v1/spec_decode/metrics.py, and
# llama.cpp's server metrics, which follow it.
PREFIXES = ("vllm:", "llamacpp:")
_PER_POSITION = "spec_decode_num_accepted_tokens_per_pos_total"
# No drafter proposes thousands; a server that says so must not make us count them one by one.
_MOST_POSITIONS, _DIGITS = 1000, 4


class Source(StrEnum):
    """Whose counters told of a measurement's acceptance."""

    REQUESTS = "the requests' own counters"
    BETWEEN = "the server's counters between the requests"  # and so the requests' own
    SERVER = "the server's counters"  # of all that was asked meanwhile


@dataclass(frozen=True, slots=True)
class Counts:
    """Totals since some moment: verify steps with a draft, tokens proposed, tokens accepted.

    `proposed` is None where the server does not say. `positions`: in how many of the steps the
    draft token at each position was accepted, the first first; empty where it does not say.
    """

    steps: int
    proposed: int | None
    accepted: int
    positions: tuple[int, ...] = ()

    def since(self, before: Counts) -> Counts:
        """What was added after `before`."""
        return self._with(before, -1)

    def plus(self, more: Counts) -> Counts:
        """Both together; what one does not say is not known of both."""
        return self._with(more, 1)

    def _with(self, other: Counts, sign: int) -> Counts:
        pairs = zip_longest(self.positions, other.positions, fillvalue=0)
        # Positions may be named only after the first draft was accepted.
        has_positions = _has_positions(self) and _has_positions(other)
        return Counts(
            self.steps + sign * other.steps,
            self.proposed + sign * other.proposed
            if self.proposed is not None and other.proposed is not None
            else None,
            self.accepted + sign * other.accepted,
            tuple(mine + sign * theirs for mine, theirs in pairs) if has_positions else (),
        )


def _has_positions(counts: Counts) -> bool:
    return bool(counts.positions) or counts.accepted == 0


@dataclass(frozen=True, slots=True)
class Positions:
    """By position of the draft token, the first first.

    `reached` is the share of all steps in which it was accepted, and never rises; `given` the share
    of those steps in which the one before it was accepted, None where that never was.
    """

    reached: tuple[float, ...]
    given: tuple[float | None, ...]


def sum_counts(many: Iterable[Counts]) -> Counts | None:
    """All together; None when there are none."""
    total: Counts | None = None
    for one in many:
        total = one if total is None else total.plus(one)
    return total


def count_metrics(samples: Iterable[MetricSample]) -> Counts | None:
    """The counters in a scrape of vLLM or llama.cpp, engines and ranks summed.

    None when the scrape has none of them.
    """
    samples = tuple(samples)
    totals: dict[str, float] = {}
    positions: dict[int, float] = {}
    for sample in samples:
        totals[sample.name] = totals.get(sample.name, 0) + sample.value
        place = sample.labels.get("position", "")
        is_place = place.isdecimal() and len(place) < _DIGITS
        if sample.name.endswith(_PER_POSITION) and is_place:
            positions[int(place)] = positions.get(int(place), 0) + sample.value
    for prefix in PREFIXES:
        names = [
            f"{prefix}spec_decode_num_{name}_total"
            for name in ("drafts", "draft_tokens", "accepted_tokens")
        ]
        if all(name in totals for name in names):
            steps, proposed, accepted = (int(totals[name]) for name in names)
            row = tuple(int(positions.get(n, 0)) for n in range(max(positions, default=-1) + 1))
            return Counts(steps, proposed, accepted, row)
    return None


def count_meta(meta: Mapping[str, object]) -> Counts | None:
    """The per-request fields of SGLang's meta_info, of all generations of names.

    0.5.12 and later count correct and proposed drafts; 0.5.9 calls them accept and draft tokens.
    Before that only the verify steps and the completion tokens are there: the first token is the
    prefill's, each step gives one that was not drafted, and the rest was. How many were proposed
    is then not known. None when the answer is not about speculation.
    """
    steps = _count(meta.get("spec_verify_ct"))
    if steps is None:
        return None
    accepted = _first(meta, "spec_num_correct_drafts", "spec_accept_token_num")
    proposed = _first(meta, "spec_num_proposed_drafts", "spec_draft_token_num")
    if accepted is None:
        tokens = _count(meta.get("completion_tokens"))
        if tokens is None:
            return None
        accepted = max(0, tokens - 1 - steps)
    histogram = meta.get("spec_correct_drafts_histogram", meta.get("spec_accept_histogram"))
    return Counts(steps, proposed, accepted, _positions_of(histogram, steps, proposed))


def _positions_of(histogram: object, steps: int, proposed: int | None) -> tuple[int, ...]:
    """From how many steps had n accepted drafts to how many had the n-th; () if that is not told.

    The histogram ends with the most that were ever accepted, which may be less than were proposed.
    """
    if not isinstance(histogram, list) or any(_count(n) is None for n in histogram):
        return ()
    if not histogram or sum(histogram) != steps:
        return ()
    deep = min(_MOST_POSITIONS, -(-proposed // steps)) if proposed and steps else 0
    return tuple(sum(histogram[n:]) for n in range(1, max(len(histogram), deep + 1)))


def acceptance_of(counts: Counts, source: str) -> Acceptance:
    """Acceptance over a window; length = 1 + accepted ÷ steps (the bonus token counts)."""
    if counts.steps <= 0 or counts.proposed == 0:
        return Acceptance(
            None,
            None,
            counts.accepted,
            counts.proposed,
            counts.steps,
            source,
            "not one draft was verified",
        )
    return Acceptance(
        1 + counts.accepted / counts.steps,
        counts.accepted / counts.proposed if counts.proposed else None,
        counts.accepted,
        counts.proposed,
        counts.steps,
        source,
    )


def positions_of(counts: Counts) -> Positions | None:
    """Acceptance by position; None where the server does not tell, or verified nothing."""
    if counts.steps <= 0 or not counts.positions:
        return None
    before = (counts.steps, *counts.positions)
    return Positions(
        tuple(n / counts.steps for n in counts.positions),
        tuple(
            n / earlier if earlier > 0 else None
            for n, earlier in zip(counts.positions, before, strict=False)
        ),
    )


def length_of_rate(rate: float, draft_tokens: int) -> float:
    """The acceptance length behind a share of accepted ones among `draft_tokens` a step.

    For vLLM, llama.cpp, SGLang's answers of all versions, and its log from 0.5.12 on.
    """
    return 1 + rate * draft_tokens


def rate_of_length(length: float, draft_tokens: int) -> float:
    """The share of accepted draft tokens behind an acceptance length."""
    return (length - 1) / draft_tokens


def length_of_old_log_rate(rate: float, verified_tokens: int) -> float:
    """The same from the `accept rate` that the log of SGLang 0.5.4 to 0.5.9 prints.

    It divides accepted and bonus tokens by all `verified_tokens` of a step (the option
    --speculative-num-draft-tokens, the root included), so that it is never below 1 ÷ these.
    """
    return rate * verified_tokens


def _first(meta: Mapping[str, object], *names: str) -> int | None:
    return next((n for name in names if (n := _count(meta.get(name))) is not None), None)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
