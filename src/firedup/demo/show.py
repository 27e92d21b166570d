"""The story of `firedup demo`: drafters, a silent loss, two doomed launches, and a verdict."""

from __future__ import annotations

import tempfile
from pathlib import Path

from firedup.core.error import RefusedError
from firedup.core.model import Snapshot, Speculation, Verdict
from firedup.core.rule import Matcher
from firedup.demo.hangup import heed_hangup
from firedup.demo.machine import check_machine
from firedup.demo.model import OTHER_VOCABULARY, TARGET, TRAINED, UNTRAINED, truncate_copy
from firedup.demo.scene import Scene, find_free_port, hold_port, launched
from firedup.demo.screen import Screen
from firedup.demo.telling import TOKENS, WORTH, Telling, is_ready
from firedup.demo.weigh import usual_asking
from firedup.profile.schema import Catalogue
from firedup.session.open import open_host
from firedup.session.status import exit_status

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
        return story.sum_up(
            ("firedup run -- llama-server -m MODEL.gguf", "a server of your own"),
            ("firedup logs demo-truncated | firedup explain -", "judge any log"),
            ("firedup ps --all", "the runs of this demo"),
        )


def introduce(screen: Screen) -> None:
    """What the story is about. UsageError when this machine cannot run the engine."""
    check_machine()
    screen.head(
        "firedup demo: real servers on this machine, launched, watched and judged",
        "The engine is llama.cpp, with a target model of 2.2 million parameters that knows parts"
        " of Python's standard library by heart. It takes less than a minute, and every server is"
        " stopped again. Commands are shown as one would type them in the models' folder.",
    )


class _Story(Telling):
    """The scenes in their order, and whether each came out as it should."""

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
        self.judge(
            f"trained drafter: ready, acceptance length {gain:.2f}",
            is_ready(trained) and gain > 1.3,
        )
        self.judge(
            f"untrained drafter: ready, acceptance length {none:.2f}",
            is_ready(untrained) and 1.0 <= none < 1.1,
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
        self.screen.say("")
        self.screen.explain(
            f"firedup run ends with status {usual} here, since the server is ready;"
            f" with --require speculation it ends with status {required}."
        )
        is_off = last.speculation is Speculation.OFF
        is_said = any(f.id == "speculation-off" for f in last.explanation.findings)
        self.judge(
            "another vocabulary: ready, and said that speculation is off",
            is_ready(last) and is_off and is_said and (usual, required) == (0, 1),
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
        """The verdict on the trained drafter."""
        self._head(5, "is the drafter worth having?", WORTH)
        plain = Scene("demo-plain", find_free_port())
        drafted = Scene("demo-drafted", find_free_port(), draft=TRAINED)
        await self.weigh(plain, drafted, usual_asking())

    def _head(self, number: int, title: str, *paragraphs: str) -> None:
        self.screen.tell("scene", scene=number, of=SCENES, title=title)
        self.screen.head(f"{number} of {SCENES}: {title}", *paragraphs)

    async def _doom(self, scene: Scene, name: str, reason: str, word: str) -> None:
        """Launch what cannot work: `reason` must be in the refusal, `word` in the cause's line."""
        refusal = await self._refuse(scene)
        self.judge(f"{name}: refused before launch", reason in refusal)
        self.screen.say("")
        self.screen.explain("With --force it is launched all the same, and diagnosed:")
        last = await self._watch(scene, force=True)
        cause = last.explanation.cause
        self.judge(
            f"{name}, launched by force: crashed, {cause.failure if cause else 'no cause found'}",
            last.explanation.verdict is Verdict.CRASHED
            and cause is not None
            and word in cause.line,
        )

    async def _refuse(self, scene: Scene) -> str:
        """The refusal, as the user sees it; "" when there was none."""
        self.screen.show_command(scene.command())
        try:
            async with launched(self.agent, self.catalogue, scene.order(), say=self.say_faintly):
                return ""
        except RefusedError as refusal:
            self.screen.tell("refused", what=refusal.what, evidence=refusal.evidence)
            self.screen.quote(f"firedup: {refusal}")
            return str(refusal)

    async def _watch(self, scene: Scene, *, force: bool = False) -> Snapshot:
        """Launch, watch to a verdict, stop."""
        async with self.up(scene, force=force) as (_, last):
            return last

    def _show_acceptance(self, trained: Snapshot, untrained: Snapshot) -> None:
        gain = _length(trained)
        self.screen.show_table(
            (
                ("drafter", "acceptance length", "accepted of drafted", "verdict"),
                ("trained", *_figures(trained), f"{gain:.2f} tokens per step"),
                ("untrained", *_figures(untrained), "no guess is right"),
            )
        )
        self.screen.explain(
            "Acceptance belongs to the two models and the text, so this CPU shows it as a GPU"
            " would. Speed is another matter: that is acceptance length ÷ time per step, and what"
            " drafting adds to a step here says nothing about a GPU."
        )


def _length(snapshot: Snapshot) -> float:
    """Acceptance length, 0 when there is none."""
    return (snapshot.acceptance.length or 0.0) if snapshot.acceptance else 0.0


def _figures(snapshot: Snapshot) -> tuple[str, str]:
    found = snapshot.acceptance
    if found is None or found.length is None:
        return "–", "–"
    return f"{found.length:.2f}", f"{found.accepted} of {found.proposed}"
