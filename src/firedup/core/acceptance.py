"""Counters of speculative decoding → acceptance length and rate, by one definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from firedup.core.exposition import MetricSample, total_of
from firedup.core.model import Acceptance


@dataclass(frozen=True, slots=True)
class Counts:
    """Totals since some moment: verify steps with a draft, tokens proposed, tokens accepted.

    `proposed` is None where the server does not say.
    """

    steps: int
    proposed: int | None
    accepted: int

    def since(self, before: Counts) -> Counts:
        """What was added after `before`."""
        return Counts(
            self.steps - before.steps,
            self.proposed - before.proposed
            if self.proposed is not None and before.proposed is not None
            else None,
            self.accepted - before.accepted,
        )


def count_metrics(samples: Iterable[MetricSample]) -> Counts | None:
    """The counters of vLLM and llama.cpp, which share their names after the prefix.

    None when the scrape has none of them. Source: vllm/v1/spec_decode/metrics.py and llama.cpp's
    server metrics, which follow it.
    """
    samples = tuple(samples)
    for prefix in ("vllm:", "llamacpp:"):
        totals = [
            total_of(samples, f"{prefix}spec_decode_num_{name}_total")
            for name in ("drafts", "draft_tokens", "accepted_tokens")
        ]
        if all(total is not None for total in totals):
            steps, proposed, accepted = (int(total or 0) for total in totals)
            return Counts(steps, proposed, accepted)
    return None


def count_meta(meta: Mapping[str, object]) -> Counts | None:
    """The per-request fields of SGLang's meta_info, of all generations of names.

    0.5.12 and later count correct and proposed drafts; 0.5.9 calls them accept and draft tokens;
    before that only the verify steps and the completion tokens are there, of which each step
    gives one that was not drafted; how many were proposed is then not known. None when the answer
    is not about speculation.
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
        accepted = max(0, tokens - steps)
    return Counts(steps, proposed, accepted)


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


def _first(meta: Mapping[str, object], *names: str) -> int | None:
    return next((n for name in names if (n := _count(meta.get(name))) is not None), None)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
