"""What somebody is told who breaks off a watch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from firedup.cli import watching
from firedup.core.link import LinkState
from firedup.core.model import Explanation, RunLabel, ServerSpec, Snapshot, Stage, Verdict
from firedup.host.base import LinkError, Trouble

LOADING = Snapshot(
    10**9,
    10**18,
    Explanation("sglang", None, Verdict.LOADING, Stage.LOAD_WEIGHTS, None, 0.9),
    run=RunLabel("20261129-182259-kimi-4f2a", "kimi", "box"),
)
GIVEN = {
    "as_json": False,
    "format_name": "plain",
    "every": None,
    "width": None,
    "tail": 0,
    "no_color": True,
    "until": "ready",
    "timeout_s": 60.0,
    "lost_after_s": 60.0,
    "requires": (),
}


async def leave(monkeypatch: pytest.MonkeyPatch, *shown: Snapshot | LinkError) -> None:
    """Break off the watch of a run once it has shown all of `shown`."""
    has_shown = asyncio.Event()

    async def watch_run(*_: Any) -> AsyncIterator[Snapshot]:
        for each in shown:
            if isinstance(each, LinkError):
                raise each
            yield each
        has_shown.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(watching, "watch_run", watch_run)
    monkeypatch.setattr(watching, "remember_run", lambda *_: None)
    monkeypatch.setattr(watching, "match_server", lambda *_: None)
    manifest = SimpleNamespace(on_stall=None)
    run = SimpleNamespace(label=LOADING.run, spec=ServerSpec(), manifest=manifest)
    watch = asyncio.ensure_future(watching.watch_launched(None, None, run, GIVEN))
    ready = asyncio.ensure_future(has_shown.wait())
    await asyncio.wait([watch, ready], return_when=asyncio.FIRST_COMPLETED)
    ready.cancel()
    watch.cancel()
    await watch


async def test_who_leaves_is_told_that_the_server_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(asyncio.CancelledError):
        await leave(monkeypatch, LOADING)

    assert "The server goes on. Watch it: firedup attach kimi" in capsys.readouterr().err


async def test_without_a_link_nobody_is_told_that_the_server_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    down = replace(LOADING, link=LinkState(5.0, "unreached", "refused"))
    with pytest.raises(asyncio.CancelledError):
        await leave(monkeypatch, LOADING, down)

    said = capsys.readouterr().err
    assert "There is no link to the host. Whether the server goes on is not known." in said
    assert "firedup attach kimi --host box" in said
    assert "The server goes on" not in said


async def test_a_host_given_up_before_anything_was_shown_is_told_with_what_to_do_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lost = LinkError(Trouble.UNREACHED, "box: not reached for 60 s", todo="Look at the cable.")
    with pytest.raises(LinkError) as caught:
        await leave(monkeypatch, lost)

    text = str(caught.value)
    assert "Look at the cable.\nWhether the server goes on is not known." in text
    assert "firedup attach kimi --host box" in text
