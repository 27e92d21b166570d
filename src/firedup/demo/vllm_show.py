"""The story of `firedup demo --engine vllm`: a drafter that can pay on a CPU, and the verdict."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from firedup.core.rule import Matcher
from firedup.demo.hangup import heed_hangup
from firedup.demo.prompt import PROMPTS
from firedup.demo.scene import LOOPBACK, find_free_port
from firedup.demo.screen import Screen
from firedup.demo.telling import WORTH, Telling
from firedup.demo.weigh import Asking
from firedup.profile.schema import Catalogue
from firedup.session.open import open_host
from firedup.session.order import Order

TITLE = "is the drafter worth having?"
TARGET, DRAFTER = "t8", "t8_eagle3"
DRAFT_TOKENS = 3
# No compiling, and no more memory than models so small need.
SMALL = ("--enforce-eager", "--max-model-len", "512", "--kv-cache-memory-bytes", "64M")
# Nothing is looked up or reported elsewhere.
QUIET = (("HF_HUB_OFFLINE", "1"), ("VLLM_NO_USAGE_STATS", "1"))
# A step takes vLLM ten times as long here as it takes llama.cpp with its smaller target.
MAX_TOKENS = 128
BUDGET_S = 180.0


@dataclass(frozen=True, slots=True)
class VllmScene:
    """A launch of `program`, with the drafter or without; it takes half a minute, or many."""

    name: str
    port: int
    program: Path
    has_drafter: bool = False
    limit_s: float = 900.0

    def order(self, *, force: bool = False) -> Order:
        """What is launched. It runs in the models' folder, so that its words are short."""
        words = [str(self.program), "serve", TARGET, *SMALL]
        words += ["--host", LOOPBACK, "--port", str(self.port)]
        if self.has_drafter:
            how = {"method": "eagle3", "model": DRAFTER, "num_speculative_tokens": DRAFT_TOKENS}
            words += ["--speculative-config", json.dumps(how, separators=(",", ":"))]
        folder = str(models_folder())
        return Order(tuple(words), name=self.name, env=QUIET, cwd=folder, force=force)

    def command(self, *, force: bool = False) -> tuple[str, ...]:
        """The same as one would type it in the models' folder."""
        words = ["firedup", "run", "--name", self.name, *(["--force"] if force else []), "--"]
        env = (f"{name}={value}" for name, value in QUIET)
        return (*words, *env, self.program.name, *self.order().argv[1:])


def models_folder() -> Path:
    """Where the target and its drafter lie."""
    return Path(str(files("firedup.demo").joinpath("vllm_model")))


def asking() -> Asking:
    """What the two servers are asked."""
    return Asking(models_folder(), f"../model/{PROMPTS}", MAX_TOKENS, BUDGET_S)


async def show_vllm(screen: Screen, catalogue: Catalogue, matcher: Matcher, program: Path) -> int:
    """Tell the story with vLLM's `program`; 0 when all was measured, else 1.

    Every server is stopped before it returns or raises.
    """
    screen.head(
        "firedup demo: vLLM on this machine's CPU, with a drafter and without",
        "The target has 6.8 million parameters in nine shards; its EAGLE-3 drafter was trained for"
        " it. Each of two starts takes about half a minute where nothing else runs.",
    )
    async with heed_hangup(), open_host() as agent:
        telling = Telling(screen, agent, catalogue, matcher)
        screen.tell("scene", scene=1, of=1, title=TITLE)
        screen.head(TITLE[0].upper() + TITLE[1:], WORTH)
        plain = VllmScene("demo-plain", find_free_port(), program)
        drafted = VllmScene("demo-drafted", find_free_port(), program, has_drafter=True)
        await telling.weigh(plain, drafted, asking())
        return telling.sum_up(
            ("firedup probe URL --baseline RUN", "measure a server of your own"),
            ("firedup demo", "the same with llama.cpp, and servers that fail"),
            ("firedup ps --all", "the runs of this demo"),
        )
