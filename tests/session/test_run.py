"""A launched server is watched to a verdict that its log, port, health and token agree on."""

import os
import signal
import socket
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from workbench import RUNS, Site, last_of, recorded, until

from firedup.core.error import UsageError
from firedup.core.model import Ownership, Speculation, State, Verdict
from firedup.host.base import local_host
from firedup.host.link import open_agent
from firedup.session.status import exit_status
from firedup.session.stop import stop_run
from firedup.testing.script import End, Http, Script, Stop, line


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


HANDLER = """
import json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_GET(self): self.answer(200, b"")
    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.generate()

def serve(generate):
    Handler.generate = generate
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
    server.daemon_threads = True
    print("The server is fired up and ready to roll!", flush=True)
    server.serve_forever()
"""


async def test_a_server_that_takes_the_request_and_never_answers_is_stalled(site: Site) -> None:
    program = site.program(HANDLER + "serve(lambda handler: time.sleep(3600))\n")
    run = await site.launch(site.serve(program))

    last = await site.conclude(run, token_s=0.3)

    assert last.checks.log
    assert last.checks.health == 200
    assert last.explanation.verdict is Verdict.STALLED
    assert "no-token" in {finding.id for finding in last.explanation.findings}
    assert last.checks.why_not == "no token within 0.3 s"
    assert exit_status(last) == 4


async def test_a_refused_request_is_a_finding_in_the_server_s_words_and_is_asked_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.session.prober.RETRY_TOKEN_S", 0.05)
    program = site.program(
        HANDLER
        + """
asked = []
def generate(handler):
    asked.append(1)
    if len(asked) < 3:
        handler.answer(500, b'{"error": {"message": "the drafter has no head"}}')
    else:
        handler.answer(200, b'{"choices": [{"text": "a"}], "usage": {"completion_tokens": 1}}')
serve(generate)
"""
    )
    run = await site.launch(site.serve(program))
    snapshots = site.watch(run)

    refused = await until(snapshots, lambda now: now.explanation.findings)
    last = await last_of(snapshots)

    assert refused.explanation.verdict is Verdict.LOADING
    assert refused.explanation.findings[0].id == "no-token"
    assert "the drafter has no head" in refused.explanation.findings[0].evidence[0].text
    assert last.explanation.verdict is Verdict.READY
    assert last.explanation.findings == ()


async def test_a_server_that_goes_on_refusing_is_not_ready_when_the_time_is_over(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.session.prober.RETRY_TOKEN_S", 0.05)
    program = site.program(HANDLER + "serve(lambda handler: handler.answer(400, b'no'))\n")
    run = await site.launch(site.serve(program))
    await until(site.watch(run, until="exit"), lambda now: now.has_open_port)

    last = await site.conclude(run, timeout_s=1.5)

    assert last.explanation.verdict is Verdict.TIMED_OUT
    assert [finding.id for finding in last.explanation.findings] == ["no-token"]
    assert exit_status(last) == 5


CHATTER = """
import threading
def chatter():
    while True:
        print("[INFO] a request came", flush=True)
        time.sleep(0.02)
threading.Thread(target=chatter, daemon=True).start()
"""


@pytest.mark.parametrize(("status", "most"), [(400, {"GET": 2, "POST": 2}), (503, {"GET": 8})])
async def test_what_the_log_prints_makes_no_question_come_sooner(
    site: Site, tmp_path: Path, status: int, most: dict[str, int]
) -> None:
    # Two seconds: with 0.25 s at first and half as long again each time, six polls fit into them.
    asked = tmp_path / "asked"
    body = f"""
def note(handler, kind, status):
    with open({str(asked)!r}, "a") as file: file.write(kind + " ")
    handler.answer(status, b"no")
Handler.do_GET = lambda handler: note(handler, "GET", {200 if status == 400 else status})
serve(lambda handler: note(handler, "POST", {status}))
"""
    run = await site.launch(site.serve(site.program(HANDLER + CHATTER + body)))

    last = await site.conclude(run, timeout_s=2.0)

    kinds = Counter(asked.read_text().split())
    assert last.explanation.verdict is Verdict.TIMED_OUT
    assert last.log_size > 1000
    assert kinds["GET"] > 0
    assert all(kinds[kind] <= most.get(kind, 0) for kind in ("GET", "POST"))


async def test_a_server_that_left_its_launcher_s_tree_is_no_stranger(site: Site) -> None:
    program = site.program(
        HANDLER
        + """
import os, signal
if os.fork() == 0:
    if os.fork():
        os._exit(0)
    body = b'{"choices": [{"text": "a"}], "usage": {"completion_tokens": 1}}'
    serve(lambda handler: handler.answer(200, body))
os.wait()
signal.pause()
"""
    )
    run = await site.launch(site.serve(program))

    last = await site.conclude(run)

    assert last.checks.owner is Ownership.YES
    assert last.explanation.verdict is Verdict.READY


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--is-embedding",), "an embedding server generates no tokens"),
        (("--disaggregation-mode", "prefill"), "a prefill server generates no tokens by itself"),
        (("--disaggregation-mode", "decode"), "a decode server generates no tokens by itself"),
        (("--node-rank", "1"), "a node rank above 0 has no API of its own"),
    ],
)
async def test_a_server_that_cannot_generate_is_ready_by_its_health_and_that_is_said(
    site: Site, flags: tuple[str, ...], why: str
) -> None:
    program = site.program(HANDLER + "serve(lambda handler: handler.answer(400, b'no'))\n")
    run = await site.launch(site.serve(program, *flags))

    last = await site.conclude(run)

    assert last.explanation.verdict is Verdict.READY
    assert last.checks.token is None
    assert last.checks.why_not == why
    assert last.explanation.findings == ()


async def test_the_api_key_is_taken_from_the_command_on_the_host(site: Site) -> None:
    script = recorded("s01_success.log", api_key="open-sesame")
    run = await site.launch(site.serve(site.fake(script), "--api-key", "open-sesame"))

    last = await site.conclude(run)

    assert last.explanation.verdict is Verdict.READY


async def test_without_the_key_the_refusal_is_said(site: Site) -> None:
    script = recorded("s01_success.log", api_key="open-sesame")
    run = await site.launch(site.serve(site.fake(script)))
    snapshots = site.watch(run)

    refused = await until(snapshots, lambda now: now.checks.why_not)

    assert refused.explanation.verdict is Verdict.LOADING
    assert refused.checks.why_not is not None
    assert "401: the key is missing" in refused.checks.why_not


async def test_a_log_level_that_hides_the_ready_line_leaves_it_to_the_other_checks(
    site: Site,
) -> None:
    program = site.fake(Script((line(0, "a warning"),), Http()))
    run = await site.launch(site.serve(program, "--log-level", "error"))

    last = await site.conclude(run)

    assert last.checks.log is False
    assert last.checks.owner is Ownership.YES
    assert last.explanation.verdict is Verdict.READY


async def test_without_its_own_words_an_open_port_of_an_unknown_owner_is_not_ready(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.session.watch.LAST_LOOK_S", 0.2)
    with socket.create_server(("127.0.0.1", site.port)):
        program = site.fake(Script((line(0, "loading"),)))
        run = await site.launch(site.serve(program), force=True)

        last = await site.conclude(run, timeout_s=1.0)

    assert last.explanation.verdict is Verdict.TIMED_OUT
    assert exit_status(last) == 5


async def test_fired_up_on_a_port_of_another_server_is_a_crash_with_the_bind_error_as_cause(
    site: Site,
) -> None:
    other = site.fake(Script((line(0, "other"),), Http(port=site.port)), "other")
    served = await site.launch((other, "--port", str(site.port)))
    await until(site.watch(served, until="exit"), lambda now: now.has_open_port)
    text = (RUNS / "sglang" / "f12_port_owned_by_other_server.log").read_bytes()
    pieces = tuple(
        replace(line(i * 0.001, ""), data=data)
        for i, data in enumerate(text.splitlines(keepends=True))
    )
    run = await site.launch(site.serve(site.fake(Script(pieces))), force=True)

    last = await site.conclude(run)

    assert b"fired up and ready to roll" in text
    assert last.explanation.verdict is Verdict.CRASHED
    assert last.explanation.cause is not None
    assert "[Errno 98]" in last.explanation.cause.line


async def test_fired_up_without_a_bind_error_on_a_foreign_port_has_its_owner_as_cause(
    site: Site,
) -> None:
    with socket.create_server(("127.0.0.1", site.port)):
        program = site.fake(Script((line(0, "The server is fired up and ready to roll!"),)))
        run = await site.launch(site.serve(program), force=True)

        last = await site.conclude(run)

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.checks.owner is Ownership.NO
    assert last.explanation.cause is not None
    assert last.explanation.cause.failure == "port-in-use"
    assert str(os.getpid()) in last.explanation.cause.line


async def test_a_program_that_is_none_is_refused_in_words(site: Site) -> None:
    broken = site.folder / "sglang"
    site.program("")
    broken.write_text("#!/no/such/interpreter\n")

    with pytest.raises(UsageError) as refusal:
        await site.launch(site.serve(str(broken)))

    assert "did not begin" in str(refusal.value)


async def test_a_start_that_was_stopped_before_ready_is_stopped_for_every_watcher(
    site: Site,
) -> None:
    # It ends with status 0 and without a word, so only the one who stopped it knows why.
    script = Script((line(0, "loading"),), stop=Stop(code=0))
    run = await site.launch(site.serve(site.fake(script)))
    snapshots = site.watch(run)
    await until(snapshots, lambda now: now.log_size)

    async with open_agent(local_host()) as other:
        await stop_run(other, site.catalogue, run, say=lambda text: None)
    last = await last_of(snapshots)

    assert (last.exit_code, last.state) == (0, State.EXITED)
    assert last.explanation.verdict is Verdict.STOPPED
    assert exit_status(last) == 6
