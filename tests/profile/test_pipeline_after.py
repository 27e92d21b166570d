"""How long it took to be ready, and to end, whenever somebody looks."""

from __future__ import annotations

from compiled import builtin_matcher

from firedup.core.event import Begun, Event, Exited, Health, LogData, PortOwner, Token
from firedup.core.model import Ownership, ServerSpec, Snapshot
from firedup.core.verdict.etatimes import ready_after_s
from firedup.profile.pipeline import Pipeline

NS = 1_000_000_000
SPEC = ServerSpec(engine="sglang", port=30000)
UP = b"The server is fired up and ready to roll!\n"


def look(now_s: float, *events: Event) -> Snapshot:
    pipeline = Pipeline(builtin_matcher("sglang"), year=2026, engine="sglang")
    for event in events:
        pipeline.feed(event)
    return pipeline.snapshot(int(now_s * NS), 10**18)


def proof(at_s: int) -> tuple[Event, ...]:
    return (
        PortOwner(at_s * NS, 30000, Ownership.YES, 7),
        Health(at_s * NS, 200),
        Token(at_s * NS, has_answered=True, text="a", tokens=1),
    )


def test_a_later_look_does_not_make_a_start_longer() -> None:
    begun = Begun(10 * NS, 10**18, SPEC, 7, is_launched=True)
    seen = look(900, begun, LogData(31 * NS, 0, 0, UP), *proof(33))

    assert seen.ready_after_s == 23
    assert seen.elapsed_s == 890


def test_how_long_it_lived_is_counted_to_its_end() -> None:
    begun = Begun(10 * NS, 10**18, SPEC, 7, is_launched=True)
    seen = look(900, begun, Exited(14 * NS, 10**18, 7, code=1))

    assert (seen.ready_after_s, seen.ended_after_s) == (None, 4)


def test_the_start_of_a_server_that_was_up_before_the_watch_has_no_length() -> None:
    begun = Begun(10 * NS, 10**18, SPEC, 7)
    seen = look(20, LogData(0, 0, 0, UP), begun, *proof(11))

    assert seen.ready_after_s is None


def test_a_server_that_says_ready_and_gives_no_token_did_not_come_up_and_served_nobody() -> None:
    begun = Begun(10 * NS, 10**18, SPEC, 7, is_launched=True)
    said = (begun, LogData(31 * NS, 0, 0, UP))
    owner, health, _ = proof(33)
    refused = Token(33 * NS, has_answered=False, error="500")
    seen = look(900, *said, owner, health, refused)

    assert (seen.is_refuted, ready_after_s(seen), seen.explanation.served_s) == (True, None, None)
    believed = look(900, *said)
    assert (believed.is_refuted, believed.explanation.served_s) == (False, 869)
