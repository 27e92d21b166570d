"""What befalls a run in the bench `faults`: kills, cuts, rotations, bursts, clock steps."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from bench.faulted import Server, signal_all

LOGS = Path(__file__).parent.parent / "tests/data/engine-runs/sglang"
CRASHES = (
    "f01_unknown_flag",
    "f02_bad_path",
    "f05_truncated_shard",
    "e01_eagle3",
    "f03_port_in_use",
)
BURST = b"[2026-11-29 18:00:00 TP0] INFO: %08d of a burst of lines that say nothing of interest\n"
BURST_LINES = (2_000, 30_000)
LEAST_BYTES = 256  # by which a sample tells one file from another
HOUR_NS = 3600 * 10**9


@dataclass(slots=True)
class Disturber:
    """Does to a server's run what the seed says."""

    server: Server
    choice: random.Random
    done: Counter[str]
    generations: list[bytes] = field(default_factory=lambda: [b""])
    hasty: float = 0.0  # the share of rotations that wait for no sample of the keeper
    has_steps: bool = False
    undo: list[tuple[str, Callable[[], None]]] = field(default_factory=list)

    async def play(self) -> None:
        """All parts with something done before and between them, and the end."""
        self.has_steps = self.choice.random() < 0.2
        self.server.start_client()
        for part in self.server.parts:
            await self._disturb()
            await self.server.write()
            self.generations[-1] += part
            for _ in range(len(self.undo)):
                if self.choice.random() < 0.6:
                    self.undo.pop(0)[1]()
        await self._disturb()
        for _, heal in self.undo:
            heal()
        self.undo.clear()
        if not self.server.client:
            self.server.start_client()
        self.server.end()

    async def _disturb(self) -> None:
        for _ in range(self.choice.choice((0, 1, 1, 2))):
            if self.server.client and self.choice.random() < 0.6 and not self.undo:
                await self.server.until_watching()
            name = self.choice.choice(self._acts())
            self.done[name] += 1
            match name:
                case "kill client":
                    self.server.kill_client()
                case "new client":
                    self.server.start_client()
                case "kill agent":
                    self._kill_agent()
                case "cut":
                    self._cut()
                case "stall":
                    self._stall()
                case "rename" | "copytruncate":
                    await self._rotate(copies=name == "copytruncate")
                case "clock step":
                    self._step_clock()

    def _acts(self) -> Sequence[str]:
        # The clock of files is not faked, so that a run has clock steps or rotations.
        has_steps = self.server.place.hop is not None and self.has_steps
        acts = ["rename", "copytruncate"] if self._ends_a_line() and not has_steps else []
        acts += ["kill client", "kill agent"] if self.server.client else ["new client"] * 3
        if self.server.client and not self.undo:
            acts += ["cut", "stall"]
        if has_steps:
            acts += ["clock step"] * 2
        return acts

    def _ends_a_line(self) -> bool:
        """A program that has its log rotated writes whole lines."""
        last = self.generations[-1]
        return last.endswith(b"\n") and (len(last) >= LEAST_BYTES or self.hasty > 0)

    async def _rotate(self, *, copies: bool) -> None:
        if self.choice.random() >= self.hasty:
            await self.server.until_sampled()
        self.server.rotate(copies=copies)
        self.generations.append(b"")

    def _kill_agent(self) -> None:
        if self.server.place.box is not None:
            self.server.signal_far_agents(signal.SIGKILL)
        else:
            self.server.signal_agent(signal.SIGKILL)

    def _cut(self) -> None:
        """The link breaks; over SSH it stays so for a while."""
        box = self.server.place.box
        if box is None:
            self.server.signal_agent(signal.SIGKILL)
            return
        box.cut()
        self.undo.append(("cut", box.heal))

    def _stall(self) -> None:
        """Nothing flows for a while, and nothing is closed."""
        box = self.server.place.box
        if box is None:
            # They may outlive their client, which a stopped process does not notice.
            stopped = self.server.signal_agent(signal.SIGSTOP)
            self.undo.append(("stall", lambda: signal_all(stopped, signal.SIGCONT)))
            return
        box.stall()
        self.undo.append(("stall", box.heal))

    def _step_clock(self) -> None:
        assert self.server.place.hop is not None
        skew = self.server.place.hop.skew
        scratch = skew.with_suffix(".new")
        scratch.write_text(str(self.choice.randint(-HOUR_NS, HOUR_NS)))
        scratch.rename(skew)


def make_parts(choice: random.Random) -> list[bytes]:
    """A recorded crash with a burst in it, cut in pieces: most of them between two lines."""
    lines = (LOGS / f"{choice.choice(CRASHES)}.log").read_bytes().splitlines(keepends=True)
    if not lines[-1].endswith(b"\n"):
        lines[-1] += b"\n"
    crash = next((i for i, text in enumerate(lines) if b"Traceback" in text), len(lines) - 1)
    if choice.random() < 0.5:
        burst = [BURST % number for number in range(choice.randint(*BURST_LINES))]
        lines[crash:crash] = [b"".join(burst)]
    whole = b"".join(lines)
    ends, total = [], 0
    for text in lines[:-1]:
        total += len(text)
        ends.append(total)
    cuts = set(choice.sample(ends, min(len(ends), choice.randint(3, 6))))
    cuts |= {choice.randrange(1, len(whole)) for _ in range(choice.randint(0, 2))}
    points = [0, *sorted(cuts), len(whole)]
    return [whole[start:stop] for start, stop in pairwise(points)]
