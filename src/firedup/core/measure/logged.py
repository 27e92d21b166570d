"""Acceptance and speed as a log's own gauges tell them, with the windows that they hold for."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.core.measure.simulated import SIMULATED
from firedup.core.model import Acceptance, Explanation, Gauge
from firedup.core.version import parse_version

# What one line of a gauge is about, by engine.
_WINDOWS = {
    "sglang": "{} x 40 decode steps, unless --decode-log-interval says otherwise",
    "vllm": "{} x 10 s, unless VLLM_LOG_STATS_INTERVAL says otherwise",
    "llama-cpp": "{} of its answers",
}
_UNKNOWN = "{} of its lines"
# SGLang's log of these counts the bonus token as accepted.
_WITH_BONUS = ((0, 5, 4), (0, 5, 11))
_ONE_AT_LEAST = 1.0


@dataclass(frozen=True, slots=True)
class Logged:
    """What a log says of speculation. `windows` is what its gauges are means over, in words.

    `speed` is in tokens a second of all requests together, prefill and waiting included where the
    engine counts so; of llama.cpp it is that of each answer. `streams` is how many were under way.
    """

    engine: str | None
    version: str | None
    acceptance: Acceptance
    windows: str | None = None
    speed: Gauge | None = None
    streams: Gauge | None = None
    is_sampled: bool = False


def read_logged(explanation: Explanation, *, made_up: str | None = None) -> Logged:
    """The same from what `explain` found; `made_up` says how acceptance is simulated, if it is.

    A mean over windows is no mean over steps: each window weighs the same, however much was
    generated in it, and warm-up and health checks are among them.
    """
    gauges = {gauge.name: gauge for gauge in explanation.gauges}
    speed = gauges.get("generation_tokens_per_s")
    length = gauges.get("accept_length")
    known = length or gauges.get("accept_rate") or speed
    windows = None
    if known is not None:
        windows = _WINDOWS.get(explanation.engine or "", _UNKNOWN).format(f"{known.count:,}")
    return Logged(
        explanation.engine,
        explanation.version,
        _acceptance(explanation, length, gauges.get("accept_rate"), made_up),
        windows,
        speed,
        gauges.get("running"),
        is_sampled=any(gauge.is_sampled for gauge in explanation.gauges),
    )


def _acceptance(
    explanation: Explanation, length: Gauge | None, rate: Gauge | None, made_up: str | None
) -> Acceptance:
    if any(finding.id == "synthetic-acceptance" for finding in explanation.findings):
        made_up = made_up or "its log says so"
    if made_up is not None:
        return Acceptance(None, None, why_not=f"{SIMULATED}: {made_up}")
    if length is None and rate is None:
        return Acceptance(None, None, why_not="the log has no line about acceptance")
    share = None if rate is None or _counts_bonus(explanation) else rate.mean
    source = "the log's own gauges"
    if length is None:
        return Acceptance(
            None, share, source=source, why_not="the log tells a rate, and not of how many drafted"
        )
    if length.greatest < _ONE_AT_LEAST:  # a gauge of a server that does not speculate is 0
        return Acceptance(None, None, source=source, why_not="not one draft was verified")
    return Acceptance(length.mean, share, source=source)


def _counts_bonus(explanation: Explanation) -> bool:
    """Whether this version's accept rate is another figure than accepted ÷ drafted."""
    number = parse_version(explanation.version or "")
    first, last = _WITH_BONUS
    return explanation.engine == "sglang" and (number is None or first <= number[:3] <= last)
