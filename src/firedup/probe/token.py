"""One generation that proves a server ready, by whichever completion route it has."""

from __future__ import annotations

from dataclasses import dataclass, replace

from firedup.core.event import Token
from firedup.core.measure.completion import (
    Answer,
    build_request,
    parse_answer,
    parse_error,
    parse_models,
)
from firedup.host.base import OperationError
from firedup.host.http import HttpAnswer
from firedup.probe.target import Target

# A server that is ready answers the shortest request within this, warm-up compilation included.
DEADLINE_S = 60.0
PROMPT = "The three primary colours are"
# With a drafter the first requests must reach its code: one token would never be drafted.
TOKENS_PLAIN, TOKENS_SPECULATING = 1, 24

# Purposes that cannot be asked for a token, and how that is said.
CANNOT_GENERATE = {
    "embedding": "an embedding server generates no tokens",
    "prefill": "a prefill server generates no tokens by itself",
    "decode": "a decode server generates no tokens by itself",
    "follower": "a node rank above 0 has no API of its own",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """The event for the core, and the parsed answer when there was one."""

    event: Token
    answer: Answer | None = None


async def ask_token(
    target: Target,
    at_ns: int,
    *,
    prompt: str = PROMPT,
    max_tokens: int | None = None,
    deadline_s: float = DEADLINE_S,
) -> Asked:
    """Ask for the first tokens, once. `at_ns` is the host's time now.

    Servers that cannot generate are not asked (`is_skipped`). A route that does not exist (404,
    405) makes the next one be tried, an unknown model name makes /v1/models be asked.
    """
    spec = target.spec
    if spec.purpose in CANNOT_GENERATE:
        why = CANNOT_GENERATE[spec.purpose]
        return Asked(Token(at_ns, has_answered=False, error=why, is_skipped=True))
    if max_tokens is None:
        max_tokens = TOKENS_SPECULATING if spec.asks_for_speculation else TOKENS_PLAIN
    failure = Token(at_ns, has_answered=False, error="the server has no route for completions")
    for route in target.http.completions:
        model = spec.served_name or spec.model
        try:
            answer = await target.post(
                route, build_request(route, model, prompt, max_tokens), timeout_s=deadline_s
            )
            if answer.status == 404 and (named := await _first_model(target)) not in (None, model):
                answer = await target.post(
                    route, build_request(route, named, prompt, max_tokens), timeout_s=deadline_s
                )
        except OperationError as error:
            why, is_late = _explain(error, deadline_s), error.code == "timeout"
            return Asked(replace(failure, route=route, error=why, has_timed_out=is_late))
        asked = _judge(route, answer)
        if asked.event.has_answered or answer.status not in (404, 405):
            return asked
        failure = asked.event
    return Asked(failure)


def _judge(route: str, answer: HttpAnswer) -> Asked:
    parsed = parse_answer(answer.body) if answer.status == 200 else None
    if parsed is None:
        said = parse_error(answer.body)
        why = f"{route} answered {answer.status}" + (f": {said}" if said else "")
        if answer.status in (401, 403):
            why += " (the API key was not found in the server's command or environment)"
        return Asked(Token(answer.at_ns, has_answered=False, route=route, error=why))
    if parsed.tokens == 0 or (parsed.tokens is None and not parsed.text):
        why = f"{route} answered 200 without a single token"
        return Asked(Token(answer.at_ns, has_answered=False, route=route, error=why))
    event = Token(
        answer.at_ns,
        has_answered=True,
        route=route,
        text=parsed.text,
        tokens=parsed.tokens,
        seconds=answer.seconds,
    )
    return Asked(event, parsed)


async def _first_model(target: Target) -> str | None:
    try:
        answer = await target.get("/v1/models")
    except OperationError:
        return None
    names = parse_models(answer.body) if answer.status == 200 else ()
    return names[0] if names else None


def _explain(error: OperationError, deadline_s: float) -> str:
    if error.code == "timeout":
        return f"no token within {deadline_s:g} s"
    return error.what
