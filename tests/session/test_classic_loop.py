"""The shell loop and `--format classic` on the same states of the same logs.

Where the loop is right the lines are the same. docs/reference/classic.md lists where it is wrong;
each row of its table names a test of this module.
"""

import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from itertools import accumulate
from pathlib import Path

import pytest
from workbench import RUNS, Knowledge, Site, recorded, until

from firedup.core.event import LogData
from firedup.core.model import Snapshot
from firedup.profile.pipeline import Pipeline
from firedup.profile.words import LOOP_HIGHLIGHT
from firedup.session.attend import watch_log
from firedup.session.watch import Watching
from firedup.testing.script import End, Script, line
from firedup.view.classic import Classic
from firedup.view.quantity import render_clock

NS = 1_000_000_000
EVERY_S = 15
# The loop as people write it; sleeping is replaced by the next state of the log and its time.
LOOP = r"""
look() {
  if grep -q 'fired up' "$LOG"; then echo "SERVER READY at $1"; exit 0; fi
  if grep -qiE 'RuntimeError|Traceback|CUDA error|killed|Segfault' "$LOG"; then
    echo 'CRASHED!'; tail -30 "$LOG"; exit 1
  fi
  words='Load weight|Memory pool|cuda graph|Capture|EAGLE|specul|draft|fired up'
  last=$(grep -E "$words" "$LOG" | tail -1 | cut -c1-120)
  echo "$1 waiting... last: ${last:-(no match)}"
}
while read -r size time; do head -c "$size" "$WHOLE" >"$LOG"; look "$time"; done
"""
DOC = Path(__file__).parents[2] / "docs" / "reference" / "classic.md"

CAME_UP = [
    "s01_success", "s02_success_omp1", "s05_tp2_eagle3", "t0_toy_baseline", "t1_toy_eagle3",
    "t3_toy_eagle_not3", "t4_toy_eagle3_badnames", "t7b_toy_ngram", "t9_toy_eagle3_topk2",
    "t2_toy_eagle3_absd2t", "t5_toy_eagle3_nod2t",
]  # fmt: skip
DIED = ["e01_eagle3", "e02_ngram", "f05_truncated_shard", "f13_tp2_kill9_rank1_load",
        "s04_tp2_eagle3", "t7_toy_ngram", "t8_toy_eagle3_nodraft"]  # fmt: skip


def sglang(name: str) -> Path:
    return RUNS / "sglang" / f"{name}.log"


@dataclass(frozen=True)
class Sides:
    """The lines of both on the same states; `loop_status` None: it would go on waiting."""

    loop: list[str]
    classic: list[str]
    loop_status: int | None


def shown(text: str) -> str:
    """A line as a terminal leaves it."""
    return text.rstrip("\r").rsplit("\r", 1)[-1]


def run_loop(whole: Path, sizes: Sequence[int], folder: Path) -> tuple[list[str], int | None]:
    states = [f"{size} {clock(number)}\n" for number, size in enumerate(sizes, 1)]
    env = {"LOG": str(folder / "loop.log"), "WHOLE": str(whole), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["bash", "-c", LOOP], input="".join(states).encode(), env=env, stdout=subprocess.PIPE
    )
    lines = done.stdout.decode(errors="replace").removesuffix("\n").split("\n")
    ended = "SERVER READY" in lines[-1] or "CRASHED!" in lines
    return [shown(text) for text in lines], done.returncode if ended else None


def clock(number: int) -> str:
    return render_clock(number * EVERY_S * NS, UTC)


def both(knowledge: Knowledge, path: Path, folder: Path, states: int = 8) -> Sides:
    """Both sides on equally many lines more of the log at `path` every 15 seconds."""
    data = path.read_bytes()
    ends = [0, *accumulate(map(len, data.splitlines(keepends=True)))]
    sizes = [ends[(len(ends) - 1) * n // states] for n in range(1, states + 1)]
    pattern = re.compile(LOOP_HIGHLIGHT)
    pipeline = Pipeline(knowledge.matcher, year=2026, tail_lines=30, highlight=pattern)
    classic, lines, at = Classic(every_s=EVERY_S, zone=UTC), [], 0
    classic.feed(pipeline.snapshot(0, 0))
    for number, size in enumerate(sizes, 1):
        now_ns = number * EVERY_S * NS
        pipeline.feed(LogData(0, 0, at, data[at:size]))
        at = size
        lines += classic.feed(pipeline.snapshot(now_ns, now_ns))
    loop, status = run_loop(path, sizes, folder)
    return Sides(loop, lines, status)


@pytest.mark.parametrize("name", CAME_UP)
def test_a_start_that_comes_up_is_told_in_the_same_lines(
    knowledge: Knowledge, tmp_path: Path, name: str
) -> None:
    sides = both(knowledge, sglang(name), tmp_path)

    assert sides.loop_status == 0
    assert sides.classic[-1] == sides.loop[-1]
    assert len(sides.classic) == len(sides.loop)
    for ours, theirs in zip(sides.classic, sides.loop, strict=True):
        assert ours == theirs or "server_args=" in theirs


@pytest.mark.parametrize("name", DIED)
def test_a_death_that_the_loop_sees_is_told_in_the_same_lines_with_the_same_tail(
    knowledge: Knowledge, tmp_path: Path, name: str
) -> None:
    sides = both(knowledge, sglang(name), tmp_path)

    assert sides.loop_status == 1
    start = sides.loop.index("CRASHED!")
    assert sides.classic[start:] == sides.loop[start:]


# ---- where the loop is wrong: one test for each row of the table in docs/reference/classic.md


def test_row_the_arguments_are_no_progress(knowledge: Knowledge, tmp_path: Path) -> None:
    data = sglang("s01_success").read_bytes()
    end = data.index(b"\n", data.index(b"server_args=")) + 1
    (tmp_path / "args.log").write_bytes(data[:end])

    sides = both(knowledge, tmp_path / "args.log", tmp_path, states=1)

    assert "server_args=" in sides.loop[0]
    assert sides.classic == [f"{clock(1)} waiting... last: (no match)"]


def test_row_a_foreign_server_on_the_port_is_no_success(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    path = sglang("f12_port_owned_by_other_server")

    sides = both(knowledge, path, tmp_path, states=1)

    assert sides.loop == [f"SERVER READY at {clock(1)}"]
    assert sides.classic[0] == "CRASHED!"
    assert any("address already in use" in text for text in sides.classic)


def test_row_a_port_that_cannot_be_bound_is_a_crash(knowledge: Knowledge, tmp_path: Path) -> None:
    sides = both(knowledge, sglang("f03_port_in_use"), tmp_path)

    assert sides.loop_status is None
    assert all("waiting..." in text for text in sides.loop)
    assert "CRASHED!" in sides.classic
    assert any("address already in use" in text for text in sides.classic)


def test_row_an_engine_that_never_says_fired_up_can_be_ready(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    sides = both(knowledge, RUNS / "vllm" / "a_base.log", tmp_path)

    assert sides.loop_status is None
    assert sides.classic[-1].startswith("SERVER READY at ")


def test_row_a_failure_in_other_words_is_a_crash(knowledge: Knowledge, tmp_path: Path) -> None:
    for path in (sglang("f01_unknown_flag"), RUNS / "llama-cpp" / "real-missing-model.log"):
        sides = both(knowledge, path, tmp_path)

        assert sides.loop_status is None
        assert "CRASHED!" in sides.classic


def test_row_an_error_that_a_start_survives_is_no_crash(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    survived = (
        b"[2026-11-29 16:34:30] Ignore import error when loading sglang.srt.models.minicpmv: "
        b"RuntimeError: operator torchvision::nms does not exist\n"
    )
    lines = sglang("s01_success").read_bytes().splitlines(keepends=True)
    ready = next(i for i, text in enumerate(lines) if b"fired up" in text)
    lines.insert(20, survived)
    (tmp_path / "up.log").write_bytes(b"".join(lines[: ready + 2]))

    sides = both(knowledge, tmp_path / "up.log", tmp_path)

    assert sides.loop_status == 1
    assert "CRASHED!" not in sides.classic
    assert sides.classic[-1].startswith("SERVER READY at ")


async def classic_of(snapshots: AsyncIterator[Snapshot]) -> list[str]:
    """What `--format classic` prints of a watch."""
    classic, lines = Classic(every_s=EVERY_S, zone=UTC), []
    async for snapshot in snapshots:
        lines += classic.feed(snapshot)
    return [*lines, *classic.close(snapshot)]


def loop_at_end(log: Path, folder: Path) -> list[str]:
    return run_loop(log, [log.stat().st_size], folder)[0]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
async def test_row_a_death_of_which_the_log_knows_nothing_is_a_crash(
    site: Site, tmp_path: Path, number: signal.Signals
) -> None:
    # "Killed" and "Segmentation fault" are words of the shell that started the server.
    script = recorded("s01_success.log")
    pieces = script.pieces[:30]
    dying = Script(pieces, end=End(pieces[-1].at_s, signal=number))
    run = await site.launch(site.serve(site.fake(dying)))

    lines = await classic_of(site.watch(run, tail_lines=30))

    assert lines[0] == "CRASHED!"
    assert lines[1:] == [shown(text) for text in Path(run.log).read_text().split("\n")[-31:-1]]
    assert "waiting..." in loop_at_end(Path(run.log), tmp_path)[0]


async def test_row_a_server_without_a_token_is_not_ready(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.session.watch.LAST_LOOK_S", 0.2)
    script = recorded("s01_success.log", is_silent=True)
    run = await site.launch(site.serve(site.fake(script)))
    await until(site.watch(run, until="exit"), lambda now: now.checks.log)

    lines = await classic_of(site.watch(run, timeout_s=2.0))

    assert lines[-1].startswith("TIMED OUT at ")
    assert loop_at_end(Path(run.log), tmp_path)[0].startswith("SERVER READY")


async def test_row_words_of_an_earlier_start_in_the_same_log_do_not_count(
    site: Site, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    log.write_text("[2026-11-28 10:00:00] The server is fired up and ready to roll!\n")
    script = Script((line(0, "loading"),), end=End(0.05, 1))
    run = await site.launch(site.serve(site.fake(script)), log=str(log))

    lines = await classic_of(site.watch(run, tail_lines=30))

    assert lines[0] == "CRASHED!"
    assert loop_at_end(log, tmp_path)[0].startswith("SERVER READY")


async def test_row_the_end_of_the_time_is_told(site: Site, tmp_path: Path) -> None:
    script = recorded("s01_success.log")
    run = await site.launch(
        site.serve(site.fake(replace(script, pieces=script.pieces[:10], http=None)))
    )

    lines = await classic_of(site.watch(run, timeout_s=0.5))

    assert lines[-1].startswith("TIMED OUT at ")
    assert "waiting..." in loop_at_end(Path(run.log), tmp_path)[-1]


async def test_row_a_log_of_the_past_is_told_at_once(site: Site, tmp_path: Path) -> None:
    log = tmp_path / "old.log"
    log.write_bytes(b"".join(sglang("f06_sigterm_during_load").read_bytes().splitlines(True)[:9]))
    os.utime(log, (1_700_000_000, 1_700_000_000))
    snapshots = watch_log(
        site.agent, site.catalogue, site.matcher, str(log), Watching(timeout_s=60)
    )

    seen = [snapshot async for snapshot in snapshots]

    assert len(seen) == 1
    assert seen[0].is_final
    assert "stale log" in seen[0].explanation.notes[0]
    assert "waiting..." in loop_at_end(log, tmp_path)[0]


async def test_row_fired_up_in_a_log_that_nobody_writes_is_no_ready_server(
    site: Site, tmp_path: Path
) -> None:
    log = tmp_path / "old.log"
    said, ready, _ = sglang("s01_success").read_bytes().partition(b"fired up and ready to roll!\n")
    log.write_bytes(said + ready)
    os.utime(log, (1_700_000_000, 1_700_000_000))
    watching = Watching(timeout_s=60, tail_lines=30)

    lines = await classic_of(
        watch_log(site.agent, site.catalogue, site.matcher, str(log), watching)
    )

    assert not any("SERVER READY" in text for text in lines)
    assert loop_at_end(log, tmp_path)[0].startswith("SERVER READY")


def test_every_row_of_the_page_has_its_test_and_every_such_test_its_row() -> None:
    named = re.findall(r"`(test_row_\w+)`", DOC.read_text())
    rows = [name for name in globals() if name.startswith("test_row_")]

    assert sorted(named) == sorted(rows)
