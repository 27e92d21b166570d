"""Two looks at a server's counters → by how much they rose, or why that cannot be said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from firedup.core.measure.acceptance import PREFIXES, Counts, count_metrics, sum_counts
from firedup.core.measure.exposition import MetricSample

# Tokens generated for anybody, and steps of the engine with a draft or without, by engine.
_GENERATED = {
    "vllm:generation_tokens_total",
    "llamacpp:tokens_predicted_total",
    "sglang:generation_tokens_total",
}
_DECODES = "llamacpp:n_decode_total"
_CREATED = "_created"
_RESTARTED = (
    "the server's counters began anew while it was measured: it, or one of its engines, restarted"
)

Series = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class Look:
    """The counters of one scrape, each series by name and labels; `stamps` say when each began."""

    series: Mapping[Series, float] = field(default_factory=dict)
    stamps: Mapping[Series, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rise:
    """By how much counters rose. `counts` are those of speculation, None where there are none.

    `generated`: tokens for all requests, those of others too; `decodes`: steps of the engine with
    or without a draft. None: the server does not say. `own` is how many of the tokens were for
    whoever looked, None where that is not known. `why_not`: nothing of it can be believed.
    """

    counts: Counts | None = None
    generated: int | None = None
    decodes: int | None = None
    own: int | None = None
    why_not: str | None = None

    @property
    def foreign(self) -> int | None:
        """Tokens that were generated for others; None where it is not known."""
        if self.generated is None or self.own is None:
            return None
        return max(0, self.generated - self.own)

    def plus(self, more: Rise) -> Rise:
        """Both together."""
        return Rise(
            # llama.cpp has no counters of speculation until it drafted once.
            sum_counts(one.counts for one in (self, more) if one.counts is not None),
            _sum(self.generated, more.generated),
            _sum(self.decodes, more.decodes),
            _sum(self.own, more.own),
            self.why_not or more.why_not,
        )


def read_look(samples: Iterable[MetricSample]) -> Look:
    """The counters of speculation and of tokens in a scrape; the rest of it is left out."""
    series: dict[Series, float] = {}
    stamps: dict[Series, float] = {}
    for sample in samples:
        name = sample.name
        key = (name, tuple(sorted(sample.labels.items())))
        if name in _GENERATED or name == _DECODES or _is_speculation(name):
            series[key] = sample.value
        elif name.endswith(_CREATED) and _is_kept(name.removesuffix(_CREATED)):
            stamps[key] = sample.value
    return Look(series, stamps)


def _is_speculation(name: str) -> bool:
    return name.endswith("_total") and any(
        name.startswith(f"{prefix}spec_decode_num_") for prefix in PREFIXES
    )


def _is_kept(base: str) -> bool:
    return f"{base}_total" in _GENERATED or _is_speculation(f"{base}_total")


def rise_between(before: Look, after: Look) -> Rise:
    """What was added. A series that fell, vanished or began anew makes all of it void."""
    if not after.series:
        return Rise()
    is_new = any(after.stamps.get(key, at) != at for key, at in before.stamps.items())
    if is_new or any(after.series.get(key, -1.0) < value for key, value in before.series.items()):
        return Rise(why_not=_RESTARTED)
    added = [
        MetricSample(key[0], dict(key[1]), value - before.series.get(key, 0.0))
        for key, value in after.series.items()
    ]
    generated = [one.value for one in added if one.name in _GENERATED]
    decodes = [one.value for one in added if one.name == _DECODES]
    return Rise(
        count_metrics(added),
        int(sum(generated)) if generated else None,
        int(sum(decodes)) if decodes else None,
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return one + other if one is not None and other is not None else None
