"""A real llama.cpp server behind the same watch: what the fake engine stands for."""

import socket
from importlib.util import find_spec
from pathlib import Path

import pytest
from workbench import Site, last_of, until

from firedup.core.error import RefusedError
from firedup.core.model import Ownership, Speculation, Verdict
from firedup.demo.engine import engine_command
from firedup.demo.model import OTHER_VOCABULARY, TARGET, TRAINED, Model, model_path, truncate_copy
from firedup.session.status import exit_status
from firedup.session.stop import stop_run

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="firedup[demo] is not installed"),
]


def command(site: Site, *flags: str, model: Path | None = None) -> tuple[str, ...]:
    target = str(model or model_path(TARGET))
    return engine_command("-m", target, "-t", "1", "-c", "512", "--port", str(site.port), *flags)


def drafter(model: Model) -> tuple[str, ...]:
    return ("-md", str(model_path(model)), "--spec-type", str(model.speculation))


async def test_a_real_server_with_its_drafter_is_ready_accepts_drafts_and_stops(
    site: Site,
) -> None:
    run = await site.launch(command(site, *drafter(TRAINED)))
    snapshots = site.watch(run, until="exit", prompt="def close(self):\n")

    ready = await until(snapshots, lambda now: now.acceptance)
    await stop_run(site.agent, site.catalogue, run, say=lambda text: None)
    last = await last_of(snapshots)

    assert ready.explanation.engine == "llama-cpp"
    assert ready.explanation.verdict is Verdict.READY
    assert ready.checks.owner is Ownership.YES
    assert ready.speculation is Speculation.ON
    assert ready.acceptance is not None
    assert ready.acceptance.length is not None
    assert ready.acceptance.length > 1.2
    assert ready.first_text
    assert last.explanation.verdict is Verdict.STOPPED


async def test_a_real_drafter_of_another_vocabulary_is_loaded_not_used_and_said(
    site: Site,
) -> None:
    run = await site.launch(command(site, *drafter(OTHER_VOCABULARY)))

    last = await site.conclude(run)

    assert last.explanation.verdict is Verdict.READY
    assert last.speculation is Speculation.OFF
    assert "speculation-off" in {finding.id for finding in last.explanation.findings}
    assert exit_status(last) == 0
    assert exit_status(last, requires=frozenset({"speculation"})) == 1


async def test_a_port_in_use_is_refused_before_a_real_launch_and_diagnosed_after_a_forced_one(
    site: Site,
) -> None:
    with socket.create_server(("127.0.0.1", site.port)):
        with pytest.raises(RefusedError, match="is taken"):
            await site.launch(command(site))
        run = await site.launch(command(site), force=True)
        last = await site.conclude(run)

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.explanation.cause is not None
    assert "couldn't bind HTTP server socket" in last.explanation.cause.line


async def test_a_truncated_model_is_refused_before_a_real_launch_and_diagnosed_after_a_forced_one(
    site: Site, tmp_path: Path
) -> None:
    argv = command(site, model=truncate_copy(TARGET, tmp_path))
    with pytest.raises(RefusedError, match="damaged, incomplete"):
        await site.launch(argv)
    run = await site.launch(argv, force=True)

    last = await site.conclude(run)

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.explanation.cause is not None
    assert "not within the file bounds" in last.explanation.cause.line
