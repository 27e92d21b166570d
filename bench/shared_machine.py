"""A machine shared with others, on which two servers of known speeds are measured."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

from firedup.core.measure.measured import Request

TOKENS = 128
TTFT_S = 0.15
NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Machine:
    """Standard deviations of log speed, and how long drift lasts.

    `prompt`: what both arms feel of a prompt. `acceptance`: what the candidate alone feels of it,
    since some text is easier to draft. `noise`: of a single request. `drift`: of an AR(1) process
    that forgets within `memory_s`. `visit`: of what changes whenever an arm is visited anew.
    """

    prompt: float = 0.08
    acceptance: float = 0.20
    noise: float = 0.04
    drift: float = 0.02
    memory_s: float = 180.0
    visit: float = 0.015
    plain_tpot_s: float = 0.0122


class World:
    """Time passes in it; `ask` takes as long as the answer."""

    def __init__(self, machine: Machine, speed_up: float, seed: int) -> None:
        self.machine, self.speed_up = machine, speed_up
        self.draw = random.Random(seed)
        self.now_s = 0.0
        self._felt: dict[str, tuple[float, float]] = {}
        self._wandered = self._offset = 0.0
        self.visit(after_s=math.inf)

    def visit(self, *, after_s: float = 0.0) -> None:
        """Come to a server anew, `after_s` later; infinity is another day."""
        self._offset = self.draw.gauss(0, self.machine.visit)
        self._pass(after_s)

    def ask(self, prompt: str, *, is_candidate: bool, block: int = 0) -> Request:
        """One request and its answer. Over all prompts the true speed-up is a ratio of means."""
        machine, draw = self.machine, self.draw
        if prompt not in self._felt:
            spread = machine.acceptance
            self._felt[prompt] = (
                draw.gauss(0, machine.prompt),
                draw.gauss(-spread * spread / 2, spread),
            )
        both, alone = self._felt[prompt]
        slower = both + self._offset + self._wandered + draw.gauss(0, machine.noise)
        tpot_s = machine.plain_tpot_s * math.exp(slower)
        if is_candidate:
            tpot_s *= math.exp(alone) / self.speed_up
        begun_s, first_s = self.now_s, self.now_s + TTFT_S
        self._pass(TTFT_S + tpot_s * (TOKENS - 1))
        return Request(
            prompt,
            "chat",
            int(begun_s * NS),
            int(first_s * NS),
            int(self.now_s * NS),
            tokens=TOKENS,
            block=block,
        )

    def _pass(self, seconds: float) -> None:
        kept = math.exp(-seconds / self.machine.memory_s)
        fresh = self.machine.drift * math.sqrt(1 - kept * kept)
        self._wandered = kept * self._wandered + self.draw.gauss(0, fresh)
        self.now_s = self.now_s + seconds if math.isfinite(seconds) else 0.0


def wilder(machine: Machine, times: float) -> Machine:
    """The same machine whose drift and visits differ by more."""
    return replace(machine, drift=machine.drift * times, visit=machine.visit * times)
