"""What a server's own counters say about speculation, before and after the first tokens."""

from __future__ import annotations

from firedup.core.event import Accepted
from firedup.core.measure.acceptance import Counts, acceptance_of, count_meta, count_metrics
from firedup.core.measure.completion import Answer, build_request, parse_answer
from firedup.core.model import Acceptance
from firedup.host.base import OperationError
from firedup.probe.target import Target
from firedup.probe.token import DEADLINE_S, PROMPT, TOKENS_SPECULATING

_OK = 200


async def read_counts(target: Target) -> Counts | None:
    """The counters of the metrics route since the server's start; None when it has none."""
    samples = await target.read_metrics()
    return None if samples is None else count_metrics(samples)


async def read_acceptance(
    target: Target, at_ns: int, answer: Answer | None, before: Counts | None
) -> Accepted:
    """Acceptance of the tokens just generated.

    `answer` is what the completion route said, `before` the counters from before the request.
    The metrics' difference counts first, then the request's own fields; SGLang's OpenAI routes
    have none, so its native route is asked once more.
    """
    after = await read_counts(target)
    if after is not None:
        window = after.since(before) if before is not None else after
        return Accepted(at_ns, acceptance_of(window, target.http.metrics or "metrics"))
    if answer is not None and (found := _of_details(answer, "the answer's own fields")):
        return Accepted(at_ns, found)
    if "/generate" in target.http.completions:
        native = await _ask_native(target)
        if native is not None and (found := _of_details(native, "/generate")):
            return Accepted(at_ns, found)
    why = "the server shows no counters of speculation"
    if target.http.metrics:
        why += f" (its {target.http.metrics} route is off or does not hold them)"
    return Accepted(at_ns, Acceptance(None, None, why_not=why))


def _of_details(answer: Answer, source: str) -> Acceptance | None:
    counts = count_meta(answer.details)
    if counts is not None:
        return acceptance_of(counts, source)
    if "predicted_n" in answer.details and "draft_n" not in answer.details:
        # llama.cpp names drafted tokens in its timings as soon as there was one.
        return acceptance_of(Counts(0, 0, 0), source)
    return None


async def _ask_native(target: Target) -> Answer | None:
    body = build_request("/generate", None, PROMPT, TOKENS_SPECULATING)
    try:
        answer = await target.post("/generate", body, timeout_s=DEADLINE_S)
    except OperationError:
        return None
    return parse_answer(answer.body) if answer.status == _OK else None
