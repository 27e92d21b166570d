"""Whether a server works on requests just now, by its own gauges."""

from __future__ import annotations

from firedup.core.measure.exposition import total_of
from firedup.probe.target import Target

# Requests that are worked on, and those that wait for their turn.
_GAUGES = (
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "sglang:num_running_reqs",
    "sglang:num_queue_reqs",
    "llamacpp:requests_processing",
    "llamacpp:requests_deferred",
)


async def count_running(target: Target) -> int | None:
    """Requests that run or wait; None where the server has no gauge of them or does not answer."""
    samples = await target.read_metrics()
    if samples is None:
        return None
    found = [total for name in _GAUGES if (total := total_of(samples, name)) is not None]
    return round(sum(found)) if found else None
