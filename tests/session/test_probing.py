"""What becomes of a measurement when its server or its time comes to an end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from firedup.core.error import MeasureError
from firedup.core.measure.figures import figures_of
from firedup.core.measure.measured import Request
from firedup.probe.client import Client
from firedup.session.probe import Probed, Standing, probe
from firedup.session.probeplan import ProbeOrder
from firedup.session.side import Opening
from firedup.store.probe import list_probes
from tests.probe.speaker import (
    DONE,
    END,
    STREAM,
    Answer,
    Speaker,
    answer,
    chunk,
    event,
    saying,
    speak,
    usage,
)

PIECES = [event(f" {n}") for n in range(7)] + [event(" end", "length"), usage(8), DONE]
GOOD = (STREAM + chunk(PIECES[0]), *map(chunk, PIECES[1:]), END)
MODELS = answer(b'{"object":"list","data":[{"id":"m","object":"model"}]}')


def serving(answers: int | None) -> Answer:
    """Models for a GET; a good answer for so many prompts, and none after that."""
    given = 0

    async def say(speaker: Speaker, writer: asyncio.StreamWriter) -> None:
        nonlocal given
        if speaker.heads[-1].startswith("GET"):
            known = "/v1/models" in speaker.heads[-1]
            await saying(MODELS if known else answer(b"{}", "404 Not Found"))(speaker, writer)
            return
        given += 1
        if answers is not None and given > answers:
            writer.close()
            return
        await saying(*GOOD)(speaker, writer)

    return say


@asynccontextmanager
async def order(answers: int | None, **how: object) -> AsyncIterator[ProbeOrder]:
    async with speak(serving(answers)) as speaker:
        yield ProbeOrder(speaker.url, requests=12, max_tokens=8, **how)  # type: ignore[arg-type]  # of several types


async def run(order: ProbeOrder, folder: Path, said: list[str]) -> Probed:
    told: list[Standing] = []
    return await probe(order, Opening(say=said.append), folder, tell=told.append)


async def test_a_server_that_answers_all_is_kept(tmp_path: Path) -> None:
    async with order(None) as asked:
        found = await run(asked, tmp_path, [])

    assert found.failure is None
    assert found.notes == ()
    assert [path.parent for path in found.kept] == [tmp_path]


async def test_each_turn_is_a_request_with_the_answers_before_it(tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    own.write_text(
        "".join(
            json.dumps({"turns": [f"Name {n}.", f"More of {n}?", f"Enough of {n}."]}) + "\n"
            for n in range(12)
        )
    )
    told: list[Standing] = []
    async with speak(serving(None)) as speaker:
        asked = ProbeOrder(speaker.url, requests=4, max_tokens=8, prompts=own)
        found = await probe(asked, Opening(), tmp_path / "kept", tell=told.append)

    said = " 0 1 2 3 4 5 6 end"
    second = f"User: Name 2.\n\nAssistant: {said}\n\nUser: More of 2?"
    requests = [r for r in found.candidate.cells[0].requests if r.prompt == "own:3"]
    assert [request.turn for request in requests] == [1, 2, 3]
    bodies = [body.decode() for body in speaker.bodies if b"Name 2." in body]
    prompts = [json.loads(body)["prompt"] for body in bodies if "is the number of" not in body]
    assert prompts == [
        "Name 2.",
        f"{second}\n\nAssistant:",
        f"{second}\n\nAssistant: {said}\n\nUser: Enough of 2.\n\nAssistant:",
    ]
    assert (told[-1].answered, told[-1].planned) == (12, 12)
    figures = figures_of(found.candidate.cells[0]).whole
    assert figures.tokens_per_s is not None
    assert 1 <= figures.tokens_per_s.count <= 4  # lines, less what warms up: not their turns


async def test_a_server_that_dies_is_not_asked_on_and_no_baseline_for_others(
    tmp_path: Path,
) -> None:
    async with order(9) as asked:
        found = await run(asked, tmp_path, [])

    assert found.failure is not None
    assert "answered no more" in found.notes[0]
    assert found.kept == ()
    assert list_probes(tmp_path) == ()
    errors = [r for cell in found.candidate.cells for r in cell.requests if r.error]
    assert len(errors) <= 4  # of a visit, and then of no further one


async def test_a_server_that_answers_no_prompt_is_said(tmp_path: Path) -> None:
    async with order(0) as asked:
        with pytest.raises(MeasureError, match="the server answered nothing that counts") as caught:
            await run(asked, tmp_path, [])

    assert caught.value.exit_status == 6
    assert caught.value.evidence is not None


async def test_who_breaks_it_off_keeps_what_there_is(tmp_path: Path) -> None:
    said: list[str] = []
    begun = asyncio.Event()
    async with order(None) as asked:
        count = 0

        def tell(_: Standing) -> None:
            nonlocal count
            count += 1
            if count == 6:
                begun.set()

        task = asyncio.ensure_future(probe(asked, Opening(say=said.append), tmp_path, tell=tell))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert len(list_probes(tmp_path)) == 1
    assert "broken off; kept as" in said[-1]


async def test_who_breaks_it_off_before_anything_counted_is_told_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    begun = asyncio.Event()

    async def hang(*_: object) -> Request:
        begun.set()
        return await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(Client, "complete", hang)
    async with order(None) as asked:
        opening = Opening(say=said.append)
        task = asyncio.ensure_future(probe(asked, opening, tmp_path, tell=lambda _: None))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert list_probes(tmp_path) == ()
    assert said == ["broken off before anything counted; nothing is kept"]


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        ("429 Too Many Requests", "ask less at a time"),
        ("400 Bad Request", "--max-tokens"),
        ("503 Service Unavailable", "look at its log"),
    ],
)
async def test_what_to_do_depends_on_what_the_server_answers(
    tmp_path: Path, status: str, advice: str
) -> None:
    async def refuse(speaker: Speaker, writer: asyncio.StreamWriter) -> None:
        is_asked = speaker.heads[-1].startswith("POST")
        await saying(answer(b"{}", status) if is_asked else MODELS)(speaker, writer)

    async with speak(refuse) as speaker:
        with pytest.raises(MeasureError, match="answered nothing that counts") as caught:
            await run(ProbeOrder(speaker.url, requests=4, max_tokens=8), tmp_path, [])

    assert status[:3] in (caught.value.evidence or "")
    assert advice in (caught.value.todo or "")


async def test_a_full_disk_takes_no_result_away(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "file").touch()
    async with order(None) as asked:
        found = await run(asked, tmp_path / "file", said)

    assert found.kept == ()
    assert found.candidate.cells[0].kept
    assert "was not kept" in said[-1]
