"""A launched server is watched to a verdict that its log, port, health and token agree on."""

import signal

import pytest
from workbench import Site, recorded

from firedup.core.model import Ownership, Speculation, State, Verdict
from firedup.session.run import exit_status
from firedup.testing.script import End, Http, Script, line


async def test_a_server_is_ready_when_log_health_owner_and_token_agree(site: Site) -> None:
    run = await site.launch(site.serve(site.fake(recorded("s01_success.log"))))

    last = await site.conclude(run)

    assert last.explanation.verdict is Verdict.READY
    assert last.state is State.SERVING
    assert (last.checks.log, last.checks.health) == (True, 200)
    assert (last.checks.owner, last.checks.token) == (Ownership.YES, True)
    assert last.first_text == " brown"
    assert exit_status(last) == 0


async def test_no_snapshot_says_ready_before_the_token(site: Site) -> None:
    run = await site.launch(site.serve(site.fake(recorded("s01_success.log"))))

    async for snapshot in site.watch(run):
        if not snapshot.checks.token:
            assert snapshot.explanation.verdict is Verdict.LOADING


async def test_an_exit_status_is_a_crash_with_the_log_s_cause(site: Site) -> None:
    script = Script(
        (line(0, "loading"), line(0.05, "ValueError: the sky is not blue")), end=End(0.06, 3)
    )
    run = await site.launch(site.serve(site.fake(script)))

    last = await site.conclude(run)

    assert last.explanation.verdict is Verdict.CRASHED
    assert (last.exit_code, last.exit_signal) == (3, None)
    assert last.explanation.cause is not None
    assert last.explanation.cause.line == "ValueError: the sky is not blue"
    assert exit_status(last) == 1


@pytest.mark.parametrize(
    ("number", "failure"),
    [
        (signal.SIGSEGV, "segmentation-fault"),
        (signal.SIGKILL, "killed"),
        (signal.SIGBUS, "bus-error"),
    ],
)
async def test_a_death_without_a_word_has_the_signal_as_its_cause(
    site: Site, number: signal.Signals, failure: str
) -> None:
    run = await site.launch(
        site.serve(site.fake(Script((line(0, "loading"),), end=End(0.05, signal=number))))
    )

    last = await site.conclude(run)

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.exit_signal == number
    assert last.explanation.cause is not None
    assert last.explanation.cause.failure == failure


async def test_the_last_words_before_an_exit_are_read_before_the_verdict(site: Site) -> None:
    words = tuple(line(0.3, f"word {n} {'x' * 3000}") for n in range(400))
    script = Script((line(0, "loading"), *words, line(0.3, "RuntimeError: last")), end=End(0.3, 1))
    run = await site.launch(site.serve(site.fake(script)))

    last = await site.conclude(run)

    assert last.explanation.cause is not None
    assert last.explanation.cause.line == "RuntimeError: last"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_an_end_by_the_operator_s_signal_before_ready_is_no_crash(
    site: Site, number: signal.Signals
) -> None:
    run = await site.launch(
        site.serve(site.fake(Script((line(0, "loading"),), end=End(0.05, signal=number))))
    )

    last = await site.conclude(run)

    assert last.explanation.verdict is Verdict.STOPPED
    assert exit_status(last) == 6


async def test_without_the_speculation_asked_for_the_server_is_ready_and_that_is_said(
    site: Site,
) -> None:
    # Counters of drafts exist and never move: the drafter is not used.
    off = Script(
        (
            line(0, "0.00.1 I main: loading model"),
            line(0.05, "0.00.2 I main: server is listening on http://127.0.0.1:@PORT@"),
        ),
        Http(0.01),
    )
    argv = (site.fake(off, "llama-server"), "-m", "org/model", "--port", str(site.port))
    run = await site.launch((*argv, "-md", "org/drafter", "--spec-type", "draft-simple"))

    last = await site.conclude(run)

    assert last.explanation.verdict is Verdict.READY
    assert last.speculation is not Speculation.ON
    assert exit_status(last) == 0
    assert exit_status(last, requires=frozenset({"speculation"})) == 1
