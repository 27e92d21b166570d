"""A server that was ready is asked for a token now and then, and what it says then counts."""

from typing import Any

import pytest
from test_run import HANDLER
from workbench import Site, last_of, until

from firedup.core.model import Verdict

TOKEN = 'handler.answer(200, b\'{"choices": [{"text": "a"}], "usage": {"completion_tokens": 1}}\')'
# Its first token comes; then it has `running` requests by its gauge, and answers as `later` says.
BODY = """
import os
asked = []
def get(handler):
    gauge = b"sglang:num_running_reqs 0\\n"
    if os.path.exists("busy"):
        gauge = b"sglang:num_running_reqs 3\\n"
        open("seen", "a").write("x")
    handler.answer(200, gauge if handler.path == "/metrics" else b"")
Handler.do_GET = get
def generate(handler):
    asked.append(1)
    open("asked", "a").write("x")
    if len(asked) == 1:
        TOKEN
    else:
        LATER
serve(generate)
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firedup.session.vigil.LOOK_S", 0.02)
    monkeypatch.setattr("firedup.session.vigil.CONFIRM_S", 0.02)


async def _launch(site: Site, later: str) -> Any:
    body = BODY.replace("TOKEN", TOKEN).replace("LATER", later)
    return await site.launch(site.serve(site.program(HANDLER + body)), cwd=str(site.folder))


@pytest.mark.parametrize("later", ["time.sleep(3600)", "handler.answer(500, b'engine is dead')"])
async def test_a_server_that_generates_no_more_while_health_says_200_is_stalled(
    site: Site, later: str
) -> None:
    run = await _launch(site, later)
    snapshots = site.watch(run, until="exit", token_every_s=0.02, token_s=0.3)

    await until(snapshots, lambda now: now.explanation.verdict is Verdict.READY)
    last = await until(snapshots, lambda now: now.explanation.verdict is not Verdict.READY)

    assert last.explanation.verdict is Verdict.STALLED
    (finding,) = last.explanation.findings
    assert finding.id == "no-token"
    assert finding.message.startswith("The health route says 200")
    assert [evidence.text for evidence in finding.evidence][1] == "the health route answered 200"


async def test_one_failure_alone_takes_nothing_back(site: Site) -> None:
    run = await _launch(
        site,
        f"{TOKEN} if len(asked) != 2 else handler.answer(500, b'no')",
    )
    snapshots = site.watch(run, until="exit", token_every_s=0.02)
    await until(snapshots, lambda now: now.explanation.verdict is Verdict.READY)

    def is_asked_often(_: object) -> bool:
        return len((site.folder / "asked").read_text()) >= 4

    last = await until(snapshots, is_asked_often)

    assert last.explanation.verdict is Verdict.READY
    assert last.explanation.findings == ()


async def test_nothing_is_asked_while_requests_run(site: Site) -> None:
    run = await _launch(site, "time.sleep(3600)")
    site.folder.mkdir(exist_ok=True)
    (site.folder / "busy").touch()
    snapshots = site.watch(run, until="exit", token_every_s=0.02, token_s=0.3, tick_s=0.05)

    def has_looked(_: object) -> bool:
        seen = site.folder / "seen"
        return seen.exists() and len(seen.read_text()) >= 8

    last = await until(snapshots, has_looked)

    assert last.explanation.verdict is Verdict.READY
    assert (site.folder / "asked").read_text() == "x"


async def test_until_ready_nothing_is_asked_again(site: Site) -> None:
    run = await _launch(site, "time.sleep(3600)")

    last = await last_of(site.watch(run, token_every_s=0.0))

    assert last.explanation.verdict is Verdict.READY
    assert (site.folder / "asked").read_text() == "x"
