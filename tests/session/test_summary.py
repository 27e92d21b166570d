"""What is told of a run that nobody watches is what its folder shows now."""

import asyncio
import os
import signal

import pytest
from workbench import LIMIT_S, Site

from firedup.core.model import Verdict
from firedup.session.registry import Run, find_run
from firedup.session.summary import summarise_runs
from firedup.testing.script import Script, line


async def test_a_stalled_server_is_judged_again_and_alike_until_it_moves(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.core.verdict.patience.STOPPED_PATIENCE_S", 0.5)
    run = await site.launch(site.serve(site.fake(Script((line(0, "loading"),), end=None))))
    server = (await find_run(site.agent, run.label.id)).state.server
    assert server is not None
    os.kill(server.pid, signal.SIGSTOP)
    watched = await site.conclude(run)

    # The keeper's samples show it frozen for as long as the watch saw it, a second later at most.
    await until_judged(site, run, Verdict.STALLED)
    os.kill(server.pid, signal.SIGCONT)
    await until_judged(site, run, Verdict.LOADING)

    assert watched.explanation.verdict is Verdict.STALLED


async def test_a_request_that_was_never_answered_is_still_a_stall_later(site: Site) -> None:
    program = site.program(
        """
        import time
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                self.send_response(200)
                self.end_headers()

            def do_POST(self):
                time.sleep(3600)

        server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
        server.daemon_threads = True
        print("The server is fired up and ready to roll!", flush=True)
        server.serve_forever()
        """
    )
    run = await site.launch(site.serve(program))
    watched = await site.conclude(run, token_s=0.3)

    assert watched.explanation.verdict is Verdict.STALLED
    assert await judge(site, run) is Verdict.STALLED


async def judge(site: Site, run: Run) -> Verdict:
    now = await find_run(site.agent, run.label.id)
    (summary,) = await summarise_runs(site.agent, lambda _: site.matcher, [now])
    return summary.verdict


async def until_judged(site: Site, run: Run, verdict: Verdict) -> None:
    async with asyncio.timeout(LIMIT_S):
        while await judge(site, run) is not verdict:
            await asyncio.sleep(0.1)
