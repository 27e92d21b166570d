"""What the demo's stories are told with: launches, measurements, and what came of each."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from firedup.core.error import FiredupError
from firedup.core.model import Snapshot, Verdict
from firedup.core.rule import Matcher
from firedup.demo.prompt import load_prompts
from firedup.demo.scene import Launch, launched
from firedup.demo.screen import Screen
from firedup.demo.weigh import Asking, Weighing, decision_of, say_verdict, speed_of
from firedup.host.link import Agent
from firedup.profile.schema import Catalogue
from firedup.session.probe import Probed
from firedup.session.registry import Run
from firedup.session.run import watch_run
from firedup.session.watch import Watching

TOKENS = 96  # as many as acceptance needs to mean something
PROMPT = 9  # on which the drafter does as well as on the twelve together (1.72)
WORTH = (
    "The target alone is measured as a baseline, then the same with the trained drafter on the"
    " same prompts. A step that drafts and verifies takes longer than a plain one: what is"
    " accepted has to be worth that. These measurements are not kept among yours."
)


@dataclass(slots=True)
class Telling:
    """Where servers are launched and shown; keeps what came out, and whether it should have."""

    screen: Screen
    agent: Agent
    catalogue: Catalogue
    matcher: Matcher
    outcomes: list[tuple[str, bool]] = field(default_factory=list)

    def judge(self, outcome: str, is_good: bool) -> None:  # noqa: FBT001 - reads as a statement
        """Note what came out."""
        self.outcomes.append((outcome, is_good))

    @asynccontextmanager
    async def up(
        self, scene: Launch, *, force: bool = False
    ) -> AsyncIterator[tuple[Run, Snapshot]]:
        """The run of `scene`, watched to a verdict; it is stopped at the end."""
        self.screen.show_command(scene.command(force=force))
        prompt = load_prompts()[PROMPT].text
        watching = Watching(timeout_s=scene.limit_s, prompt=prompt, max_tokens=TOKENS)
        order = scene.order(force=force)
        async with launched(self.agent, self.catalogue, order, say=self.say_faintly) as run:
            snapshots = watch_run(self.agent, self.catalogue, self.matcher, run, watching)
            last = await self.screen.show(snapshots, scene.name)
            if last.exit_code is None and last.exit_signal is None:
                self.screen.say("")
            yield run, last

    async def weigh(self, plain: Launch, drafted: Launch, asking: Asking) -> None:
        """The plain server as a baseline, the same with its drafter, and the verdict."""
        with tempfile.TemporaryDirectory(prefix="firedup-demo-") as folder:
            weighing = Weighing(self.screen, Path(folder), asking)
            baseline = await self._measure(plain, weighing)
            speed = speed_of(baseline[1]) if baseline else None
            if baseline is None or speed is None:
                self.judge("baseline: not measured", is_good=False)
                return
            self.judge(f"baseline: {speed:.0f} tok/s without a drafter", is_good=True)
            candidate = await self._measure(drafted, weighing, baseline[0])
        decision = decision_of(candidate[1]) if candidate else None
        if decision is None:
            self.judge("trained drafter against the baseline: not measured", is_good=False)
            return
        # Whatever the verdict is on this machine, it is the right one; only silence is wrong.
        self.judge(f"trained drafter against the baseline: {say_verdict(decision)}", is_good=True)
        self.screen.say("")
        self.screen.explain(
            "It holds for these two models on this machine as busy as it is now, and nowhere else:"
            " the same commands measure a server of yours."
        )

    async def _measure(
        self, scene: Launch, weighing: Weighing, baseline: Run | None = None
    ) -> tuple[Run, Probed] | None:
        """Launch, watch, measure, stop; None when it could not be measured."""
        async with self.up(scene) as (run, last):
            if not is_ready(last):
                return None
            try:
                return run, await weighing.measure(run, baseline)
            except FiredupError as problem:
                self.screen.quote(f"firedup: {problem}")
                return None

    def sum_up(self, *commands: tuple[str, str]) -> int:
        """What came out, and the `commands` to try next; the exit status."""
        failed = [text for text, is_good in self.outcomes if not is_good]
        screen = self.screen
        screen.tell(
            "demo",
            outcomes=[{"outcome": text, "as_expected": good} for text, good in self.outcomes],
            as_expected=not failed,
        )
        screen.head("What you saw")
        for text, is_good in self.outcomes:
            screen.say(f"  {'✓' if is_good else '✗'} {text}", "green" if is_good else "red")
        if failed:
            screen.say("")
            screen.explain(f"{len(failed)} of {len(self.outcomes)} did not come out as expected.")
        screen.head("Try next")
        screen.show_commands(*commands)
        return 1 if failed else 0

    def say_faintly(self, text: str) -> None:
        """An aside."""
        self.screen.say(text, "faint")


def is_ready(snapshot: Snapshot) -> bool:
    """Whether the server came up."""
    return snapshot.explanation.verdict is Verdict.READY
