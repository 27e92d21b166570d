"""A server is ready when it has proved it, not when it says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firedup.core.event import Health, PortOwner, Token
from firedup.core.model import Ownership, ServerSpec, Stage
from firedup.core.verdict.readiness import Readiness
from firedup.core.verdict.startup import Moment

SPEC = ServerSpec(port=30000)
HEALTHY = Health(1, 200)
OWN = PortOwner(1, 30000, Ownership.YES)
TOKEN = Token(1, has_answered=True, text="blue")


def ready(*answers: Health | PortOwner | Token, spec: ServerSpec = SPEC, log: bool = True) -> bool:
    readiness = Readiness(spec)
    for answer in answers:
        readiness.feed(answer)
    return readiness.is_proven(log_ready=log)


def test_health_owner_token_and_word_together_prove_it() -> None:
    assert ready(HEALTHY, OWN, TOKEN)


@pytest.mark.parametrize("missing", [HEALTHY, TOKEN])
def test_nothing_may_be_missing(missing: Health | Token) -> None:
    assert not ready(*(answer for answer in (HEALTHY, OWN, TOKEN) if answer is not missing))


def test_a_foreign_owner_spoils_everything() -> None:
    assert not ready(HEALTHY, replace(OWN, owner=Ownership.NO), TOKEN)


def test_an_unknown_owner_does_not_but_then_the_log_must_have_said_so() -> None:
    unknown = replace(OWN, owner=Ownership.UNKNOWN)

    assert ready(HEALTHY, unknown, TOKEN)
    assert not ready(HEALTHY, unknown, TOKEN, log=False)
    assert ready(HEALTHY, unknown, TOKEN, log=False, spec=replace(SPEC, hides_ready_line=True))


def test_its_own_socket_and_a_token_make_up_for_a_silent_log() -> None:
    assert ready(HEALTHY, OWN, TOKEN, log=False)


def test_who_cannot_be_asked_for_a_token_need_not_give_one() -> None:
    assert ready(HEALTHY, OWN, Token(1, has_answered=False, is_skipped=True))


def test_who_refused_to_generate_is_not_ready() -> None:
    assert not ready(HEALTHY, OWN, Token(1, has_answered=False, error="500"))


def test_a_server_without_a_port_is_believed() -> None:
    assert ready(spec=ServerSpec())
    assert not ready(spec=ServerSpec(), log=False)


def test_what_is_waited_for_follows_the_answers() -> None:
    readiness = Readiness(SPEC)

    def waiting(*, log_ready: bool, has_log: bool = True) -> str:
        stage = Stage.READY if log_ready else Stage.LOAD_WEIGHTS
        return readiness.waiting_for(stage, log_ready=log_ready, has_log=has_log)

    assert waiting(log_ready=False, has_log=False) == "the first bytes of the log"
    assert waiting(log_ready=False) == "load-weights to finish"
    assert waiting(log_ready=True) == "the health route to answer 200"
    readiness.feed(HEALTHY)
    readiness.feed(OWN)
    assert waiting(log_ready=True) == "the first token"
    readiness.feed(TOKEN)
    assert waiting(log_ready=True) == "nothing more"


def refuted(*answers: Health | PortOwner | Token) -> bool:
    readiness = Readiness(SPEC)
    for answer in answers:
        readiness.feed(answer)
    assert not readiness.is_refuted(None)  # nothing was claimed
    return readiness.is_refuted(Moment(5, None))


@pytest.mark.parametrize(
    "answer",
    [
        Health(7, 503),
        Health(7, None, "refused"),
        replace(OWN, at_ns=7, owner=Ownership.NO),
        Token(7, has_answered=False, error="500"),
    ],
)
def test_who_was_asked_since_it_said_ready_and_never_showed_it_is_refuted(
    answer: Health | PortOwner | Token,
) -> None:
    assert refuted(answer)
    assert not refuted(replace(answer, at_ns=4))  # it still loaded


def test_who_showed_it_once_or_was_asked_nothing_is_not_refuted() -> None:
    assert not refuted()
    assert not refuted(HEALTHY, Token(7, has_answered=False, is_skipped=True))
    assert not refuted(HEALTHY, TOKEN, Health(7, 503), Token(8, has_answered=False, error="500"))
