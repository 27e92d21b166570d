"""An exchange that is over → the request as it was measured, or why there is no answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from firedup.core.measure.acceptance import count_meta
from firedup.core.measure.completion import parse_answer, parse_error
from firedup.core.measure.latency import time_pieces, token_gaps_ns
from firedup.core.measure.measured import Request
from firedup.probe.call import Call
from firedup.probe.exchange import Exchange

_OK = 200


def conclude(call: Call, exchange: Exchange, begun_ns: int, problem: str | None) -> Request:
    """The request with its answer. `problem` says what ended the exchange before its time."""
    exchange.finish()
    make = partial(
        Request,
        call.prompt,
        call.category,
        begun_ns,
        is_warm_up=call.is_warm_up,
        block=call.block,
        turn=call.turn,
    )
    error = explain_status(call.path, exchange) or exchange.problem
    if exchange.is_stream:
        return _with_stream(make, exchange, call, error or _stream_error(exchange, problem))
    if error is None and problem is None:
        answer = parse_answer(bytes(exchange.content))
        if answer is not None:
            return make(
                last_ns=exchange.last_ns,
                prompt_tokens=answer.prompt_tokens,
                tokens=answer.tokens,
                counts=count_meta(answer.details),
                finish=answer.finish,
                text=answer.text,
            )
        said = parse_error(bytes(exchange.content)) or "nothing"
        error = f"{call.path} answered 200, but no completion: {said}"
    elif error is None and exchange.content:
        problem = f"{problem} after {len(exchange.content):,} bytes of the answer"
    return make(error=error or problem)


def explain_status(path: str, exchange: Exchange) -> str | None:
    """What is wrong with an answer of another status than 200; None when it has no other."""
    status = exchange.status
    if status is None or status == _OK:
        return None
    if 300 <= status < 400:
        place = exchange.headers.get("location", "").partition("?")[0]
        to = f" to {place[:200]}" if place else " elsewhere"
        return (
            f"{path} answered {status}, a redirection{to}, which is not followed: name that server"
        )
    said = parse_error(bytes(exchange.content))
    text = f"{path} answered {status}" + (f": {said}" if said else "")
    if status in (401, 403):
        text += " (is the API key the right one?)"
    return text


def _with_stream(
    make: Callable[..., Request], exchange: Exchange, call: Call, error: str | None
) -> Request:
    reader = exchange.reader
    timing = time_pieces(reader.at_ns, reader.totals)
    # A token without text, such as the end token alone, came with the word that it was the end.
    only_ns = reader.finish_ns if reader.last_total else None
    return make(
        first_ns=timing.first_ns if timing else only_ns,
        last_ns=timing.last_ns if timing else only_ns,
        prompt_tokens=reader.prompt_tokens,
        tokens=reader.last_total,
        events=timing.events if timing else 0,
        first_tokens=timing.first_tokens if timing else None,
        most_tokens=timing.most_tokens if timing else None,
        longest_gap_ns=timing.longest_gap_ns if timing else None,
        gap_at_ns=timing.gap_at_ns if timing else None,
        arrivals=timing.arrivals if timing else None,
        first_events=timing.first_events if timing else 1,
        gaps_ns=token_gaps_ns(reader.at_ns, reader.totals) if timing and call.keeps_gaps else None,
        counts=count_meta(reader.details),
        finish=reader.finish,
        text=reader.text,
        error=error,
    )


def _stream_error(exchange: Exchange, problem: str | None) -> str | None:
    """Why a stream is not complete, with how much of it came."""
    reader = exchange.reader
    if reader.error is not None:
        problem = f"the server told an error inside the stream: {reader.error}"
    elif reader.is_done:
        # What the connection did afterwards is of no matter.
        is_answer = reader.at_ns or reader.last_total is not None or reader.finish is not None
        return None if is_answer else "the stream had an end and nothing before it"
    elif problem is None and reader.finish is None:
        problem = "the stream ended without saying that it was its end"
    if problem is None:
        return None
    came = len(reader.at_ns)
    if not came:
        return f"{problem} (before any text)"
    tokens = f", {reader.last_total} tokens" if reader.last_total is not None else ""
    return f"{problem} (after {came} piece{'s' * (came != 1)}{tokens})"
