"""Measures the demo's servers as `firedup probe` does, and keeps the results apart from others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from firedup.core.measure.decision import Decision, sum_up
from firedup.core.measure.figures import figures_of
from firedup.demo.model import TARGET, model_path
from firedup.demo.prompt import PROMPTS, load_prompts
from firedup.demo.screen import Screen
from firedup.session.probe import Probed, Standing, probe
from firedup.session.probeplan import ProbeOrder
from firedup.session.registry import Run
from firedup.session.side import Opening
from firedup.view.measurement import record_measurement, render_measurement
from firedup.view.quantity import render_duration, render_estimate

# Long answers: where a core is shared, a short one is over while its reader waits for its turn.
MAX_TOKENS = 256
BUDGET_S = 60.0  # for each server, where much else runs; else it takes a few seconds


@dataclass(frozen=True, slots=True)
class Asking:
    """What servers are asked: `prompts` is a file as it is called in the `models` folder."""

    models: Path
    prompts: str
    max_tokens: int
    budget_s: float

    def command(self, name: str, baseline: str | None = None) -> tuple[str, ...]:
        """What one would type in the models' folder to measure the run `name`."""
        words = ["firedup", "probe", name]
        if baseline is not None:
            words += ["--baseline", baseline]
        words += ["--prompts", self.prompts]
        if baseline is None:
            most = str(self.max_tokens)
            words += ["--requests", str(len(load_prompts())), "--max-tokens", most]
        return (*words, "--budget", f"{self.budget_s:g}s")

    def order(self, run: Run, baseline: Run | None) -> ProbeOrder:
        """The same for a run and its baseline."""
        prompts = self.models / self.prompts
        order = ProbeOrder(run.label.id, prompts=prompts, budget_s=self.budget_s)
        if baseline is not None:
            return replace(order, baseline=baseline.label.id)
        return replace(order, requests=len(load_prompts()), max_tokens=self.max_tokens)


def usual_asking() -> Asking:
    """What llama.cpp's servers are asked."""
    return Asking(model_path(TARGET).parent, PROMPTS, MAX_TOKENS, BUDGET_S)


@dataclass(frozen=True, slots=True)
class Weighing:
    """Measurements that lie in `folder` and nowhere else, shown on `screen`."""

    screen: Screen
    folder: Path
    asking: Asking

    async def measure(self, run: Run, baseline: Run | None = None) -> Probed:
        """Measure the server of `run`, against `baseline` if that was measured before.

        FiredupError as of `firedup probe`, such as when nothing was answered.
        """
        order = self.asking.order(run, baseline)
        name = baseline.label.name if baseline else None
        self.screen.show_command(self.asking.command(run.label.name, name))
        most = render_duration(self.asking.budget_s)
        self.screen.say(f"asks one prompt after the other, for {most} at most", "faint")
        self.screen.say("")
        found = await probe(order, Opening(), self.folder, tell=_say_nothing)
        whole = (found.candidate, found.baseline, found.judged)
        is_short = found.is_cut_short
        record = record_measurement(*whole, found.design, is_cut_short=is_short)
        record["notes"] = list(found.notes)
        self.screen.tell("probe", run=run.label.id, **record)
        lines = render_measurement(*whole, self.screen.paper, is_cut_short=is_short)
        for line in lines[1:]:  # without the empty one that sets it off
            self.screen.say(line)
        for note in found.notes:
            self.screen.say(f"! {note}")
        self.screen.say("")
        return found


def speed_of(found: Probed) -> float | None:
    """Tokens a second of one stream; None where nothing of it is known."""
    whole = figures_of(found.candidate.cells[0]).whole
    return whole.tokens_per_s.value if whole.tokens_per_s else None


def decision_of(found: Probed) -> Decision | None:
    """The decision of a measurement against a baseline; None where there are too few answers."""
    decisions = found.judged.decisions if found.judged else ()
    return decisions[0] if decisions else None


def say_verdict(decision: Decision) -> str:
    """The verdict and its one figure."""
    return f"{sum_up([decision])}, {render_estimate(decision.case.speed_up, 'x')}"


def _say_nothing(standing: Standing) -> None:
    """It is over in a moment."""
