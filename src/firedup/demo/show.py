"""The story of `firedup demo`: drafters, a silent loss, two doomed launches, and a verdict."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from firedup.core.error import FiredupError, RefusedError
from firedup.core.model import Snapshot, Speculation, Verdict
from firedup.core.rule import Matcher
from firedup.demo.hangup import heed_hangup
from firedup.demo.machine import check_machine
from firedup.demo.model import OTHER_VOCABULARY, TARGET, TRAINED, UNTRAINED, truncate_copy
from firedup.demo.prompt import load_prompts
from firedup.demo.scene import Scene, find_free_port, hold_port, launched
from firedup.demo.screen import Screen
from firedup.demo.weigh import Weighing, decision_of, say_verdict, speed_of
from firedup.host.link import Agent
from firedup.profile.schema import Catalogue
from firedup.session.open import open_host
from firedup.session.probe import Probed
from firedup.session.registry import Run
from firedup.session.run import watch_run
from firedup.session.status import exit_status
from firedup.session.watch import Watching

TOKENS = 96  # as many as acceptance needs to mean something
PROMPT = 9  # on which the drafter does as well as on the twelve together (1.72)
LIMIT_S = 60.0
SCENES = 5


async def show(screen: Screen, catalogue: Catalogue, matcher: Matcher) -> int:
    """Tell the story on this machine; 0 when every scene came out as it should, else 1.

    `introduce` comes first. Every server is stopped before it returns or raises.
    """
    async with heed_hangup(), open_host() as agent:
        story = _Story(screen, agent, catalogue, matcher)
        await story.compare_drafters()
        await story.lose_speculation()
        await story.meet_taken_port()
        await story.meet_truncated_model()
        await story.weigh_drafter()
        return story.end()


def introduce(screen: Screen) -> None:
    """What the story is about. UsageError when this machine cannot run the engine."""
    check_machine()
    screen.head(
        "firedup demo: real servers on this machine, launched, watched and judged",
        "The engine is llama.cpp, with a target model of 2.2 million parameters that knows parts"
        " of Python's standard library by heart. It takes less than a minute, and every server is"
        " stopped again. Commands are shown as one would type them in the models' folder.",
    )


class _Story:
    """The scenes in their order, and whether each came out as it should."""

    def __init__(
        self, screen: Screen, agent: Agent, catalogue: Catalogue, matcher: Matcher
    ) -> None:
        self._screen = screen
        self._agent = agent
        self._catalogue = catalogue
        self._matcher = matcher
        self._outcomes: list[tuple[str, bool]] = []

    async def compare_drafters(self) -> None:
        """A trained drafter beside an untrained one."""
        self._head(
            1,
            "a drafter that fits, and one that was never trained",
            "An EAGLE-3 drafter guesses the next tokens and the target verifies them in one pass."
            f" firedup waits until the server has proved itself, asks for {TOKENS} tokens and"
            " reads from the server's own counters how many guesses were accepted.",
        )
        trained = await self._watch(Scene("demo-trained", find_free_port(), draft=TRAINED))
        untrained = await self._watch(Scene("demo-untrained", find_free_port(), draft=UNTRAINED))
        self._show_acceptance(trained, untrained)
        gain, none = _length(trained), _length(untrained)
        self._judge(
            f"trained drafter: ready, acceptance length {gain:.2f}",
            _is_ready(trained) and gain > 1.3,
        )
        self._judge(
            f"untrained drafter: ready, acceptance length {none:.2f}",
            _is_ready(untrained) and 1.0 <= none < 1.1,
        )

    async def lose_speculation(self) -> None:
        """A server that is ready and does not speculate."""
        self._head(
            2,
            "a drafter with another vocabulary",
            "The server comes up and answers. Only its log says that the drafter is not used.",
        )
        last = await self._watch(Scene("demo-vocabulary", find_free_port(), draft=OTHER_VOCABULARY))
        usual, required = exit_status(last), exit_status(last, requires=frozenset({"speculation"}))
        self._screen.say("")
        self._screen.explain(
            f"firedup run ends with status {usual} here, since the server is ready;"
            f" with --require speculation it ends with status {required}."
        )
        is_off = last.speculation is Speculation.OFF
        is_said = any(f.id == "speculation-off" for f in last.explanation.findings)
        self._judge(
            "another vocabulary: ready, and said that speculation is off",
            _is_ready(last) and is_off and is_said and (usual, required) == (0, 1),
        )

    async def meet_taken_port(self) -> None:
        """A launch on a port that is taken: refused, and with force diagnosed."""
        self._head(3, "a port that is taken", "The demo itself listens on the port.")
        async with hold_port() as port:
            scene = Scene("demo-port", port, draft=TRAINED)
            await self._doom(scene, "taken port", str(port), "bind")

    async def meet_truncated_model(self) -> None:
        """A launch of half a model: refused, and with force diagnosed."""
        self._head(4, "half a model", "A download broke off: the file ends in the midst of it.")
        with tempfile.TemporaryDirectory(prefix="firedup-demo-") as folder:
            path = str(truncate_copy(TARGET, Path(folder)))
            scene = Scene("demo-truncated", find_free_port(), target=path)
            await self._doom(scene, "truncated model", path, "bounds")

    async def weigh_drafter(self) -> None:
        """The plain server as a baseline, the same with its drafter, and the verdict."""
        self._head(
            5,
            "is the drafter worth having?",
            "The target alone is measured as a baseline, then the same with the trained drafter on"
            " the same prompts. A step that drafts and verifies takes longer than a plain one: what"
            " is accepted has to be worth that. These measurements are not kept among yours.",
        )
        with tempfile.TemporaryDirectory(prefix="firedup-demo-") as folder:
            weighing = Weighing(self._screen, Path(folder))
            plain = await self._measure(Scene("demo-plain", find_free_port()), weighing)
            speed = speed_of(plain[1]) if plain else None
            if plain is None or speed is None:
                self._judge("baseline: not measured", is_good=False)
                return
            self._judge(f"baseline: {speed:.0f} tok/s without a drafter", is_good=True)
            scene = Scene("demo-drafted", find_free_port(), draft=TRAINED)
            drafted = await self._measure(scene, weighing, plain[0])
        decision = decision_of(drafted[1]) if drafted else None
        if decision is None:
            self._judge("trained drafter against the baseline: not measured", is_good=False)
            return
        # Whatever the verdict is on this machine, it is the right one; only silence is wrong.
        self._judge(f"trained drafter against the baseline: {say_verdict(decision)}", is_good=True)
        self._screen.say("")
        self._screen.explain(
            "It holds for these two models on this machine as busy as it is now, and nowhere else:"
            " the same commands measure a server of yours."
        )

    def end(self) -> int:
        """The summary; the exit status."""
        failed = [text for text, is_good in self._outcomes if not is_good]
        screen = self._screen
        screen.tell(
            "demo",
            outcomes=[{"outcome": text, "as_expected": good} for text, good in self._outcomes],
            as_expected=not failed,
        )
        screen.head("What you saw")
        for text, is_good in self._outcomes:
            screen.say(f"  {'✓' if is_good else '✗'} {text}", "green" if is_good else "red")
        if failed:
            screen.say("")
            screen.explain(f"{len(failed)} of {len(self._outcomes)} did not come out as expected.")
        screen.head("Try next")
        screen.show_commands(
            ("firedup run -- llama-server -m MODEL.gguf", "a server of your own"),
            ("firedup logs demo-truncated | firedup explain -", "judge any log"),
            ("firedup ps --all", "the runs of this demo"),
        )
        return 1 if failed else 0

    def _head(self, number: int, title: str, *paragraphs: str) -> None:
        self._screen.tell("scene", scene=number, of=SCENES, title=title)
        self._screen.head(f"{number} of {SCENES}: {title}", *paragraphs)

    async def _doom(self, scene: Scene, name: str, reason: str, word: str) -> None:
        """Launch what cannot work: `reason` must be in the refusal, `word` in the cause's line."""
        refusal = await self._refuse(scene)
        self._judge(f"{name}: refused before launch", reason in refusal)
        self._screen.say("")
        self._screen.explain("With --force it is launched all the same, and diagnosed:")
        last = await self._watch(scene, force=True)
        cause = last.explanation.cause
        self._judge(
            f"{name}, launched by force: crashed, {cause.failure if cause else 'no cause found'}",
            last.explanation.verdict is Verdict.CRASHED
            and cause is not None
            and word in cause.line,
        )

    async def _refuse(self, scene: Scene) -> str:
        """The refusal, as the user sees it; "" when there was none."""
        self._screen.show_command(scene.command())
        try:
            async with launched(self._agent, self._catalogue, scene.order(), say=self._faintly):
                return ""
        except RefusedError as refusal:
            self._screen.tell("refused", what=refusal.what, evidence=refusal.evidence)
            self._screen.quote(f"firedup: {refusal}")
            return str(refusal)

    async def _watch(self, scene: Scene, *, force: bool = False) -> Snapshot:
        """Launch, watch to a verdict, stop."""
        async with self._up(scene, force=force) as (_, last):
            return last

    async def _measure(
        self, scene: Scene, weighing: Weighing, baseline: Run | None = None
    ) -> tuple[Run, Probed] | None:
        """Launch, watch, measure, stop; None when it could not be measured."""
        async with self._up(scene) as (run, last):
            if not _is_ready(last):
                return None
            try:
                return run, await weighing.measure(run, baseline)
            except FiredupError as problem:
                self._screen.quote(f"firedup: {problem}")
                return None

    @asynccontextmanager
    async def _up(
        self, scene: Scene, *, force: bool = False
    ) -> AsyncIterator[tuple[Run, Snapshot]]:
        """The run, watched to a verdict; it is stopped at the end."""
        self._screen.show_command(scene.command(force=force))
        prompt = load_prompts()[PROMPT].text
        watching = Watching(timeout_s=LIMIT_S, prompt=prompt, max_tokens=TOKENS)
        order = scene.order(force=force)
        async with launched(self._agent, self._catalogue, order, say=self._faintly) as run:
            snapshots = watch_run(self._agent, self._catalogue, self._matcher, run, watching)
            last = await self._screen.show(snapshots, scene.name)
            if last.exit_code is None and last.exit_signal is None:
                self._screen.say("")
            yield run, last

    def _faintly(self, text: str) -> None:
        self._screen.say(text, "faint")

    def _judge(self, outcome: str, is_good: bool) -> None:  # noqa: FBT001 - reads as a statement
        self._outcomes.append((outcome, is_good))

    def _show_acceptance(self, trained: Snapshot, untrained: Snapshot) -> None:
        gain = _length(trained)
        self._screen.show_table(
            (
                ("drafter", "acceptance length", "accepted of drafted", "verdict"),
                ("trained", *_figures(trained), f"{gain:.2f} tokens per step"),
                ("untrained", *_figures(untrained), "no guess is right"),
            )
        )
        self._screen.explain(
            "Acceptance belongs to the two models and the text, so this CPU shows it as a GPU"
            " would. Speed is another matter: that is acceptance length ÷ time per step, and what"
            " drafting adds to a step here says nothing about a GPU."
        )


def _is_ready(snapshot: Snapshot) -> bool:
    return snapshot.explanation.verdict is Verdict.READY


def _length(snapshot: Snapshot) -> float:
    """Acceptance length, 0 when there is none."""
    return (snapshot.acceptance.length or 0.0) if snapshot.acceptance else 0.0


def _figures(snapshot: Snapshot) -> tuple[str, str]:
    found = snapshot.acceptance
    if found is None or found.length is None:
        return "–", "–"
    return f"{found.length:.2f}", f"{found.accepted} of {found.proposed}"
