"""The launch flags name an algorithm that is not the drafter's.

SGLang takes an EAGLE-3 head under `--speculative-algorithm EAGLE` without a word and leaves out
what joins the target's hidden states: an acceptance length of 1.00 was reported in public for
Kimi-K2.5, and in a real SGLang 2.29 was measured where EAGLE3 gives 3.31.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.asked import Asked, asked_of, flag_evidence
from firedup.drafter.case import Case
from firedup.drafter.consequence import consequences
from firedup.drafter.tell import config_evidence

ID = "algorithm-not-the-drafters"
# What each kind of drafter is launched with.
RIGHT = {
    ("sglang", "eagle3"): ("EAGLE3",),
    ("sglang", "eagle"): ("EAGLE", "NEXTN"),
    ("sglang", "mtp"): ("EAGLE", "NEXTN"),
    ("sglang", "draft-model"): ("STANDALONE",),
    ("vllm", "eagle3"): ("eagle3",),
    ("vllm", "eagle"): ("eagle",),
    ("vllm", "mtp"): ("mtp", "deepseek_mtp"),
    ("vllm", "draft-model"): ("draft_model",),
    ("llama-cpp", "eagle3"): ("draft-eagle3",),
    ("llama-cpp", "mtp"): ("draft-mtp",),
    ("llama-cpp", "draft-model"): ("draft-simple",),
}
_FLAGS = {"sglang": "speculative-algorithm", "vllm": "speculative-config", "llama-cpp": "spec-type"}
# Algorithms of other kinds of drafters, or of none, about which these files say nothing.
_KNOWN = frozenset(word for words in RIGHT.values() for word in words)


def check(case: Case) -> Iterator[CheckFinding]:
    """Compare the flag with the kind of drafter."""
    asked, kind = asked_of(case), case.draft_facts.kind
    right = RIGHT.get((asked.engine, kind), ()) if asked else ()
    if asked is None or not right or not asked.algorithm:
        return
    given = {word for part in asked.algorithm.split(",") if (word := part.strip())}
    if given & set(right) or not given & _KNOWN:
        return
    flag = _FLAGS[asked.engine]
    found = consequences(_fault(asked, kind), engine=asked.engine)
    yield CheckFinding(
        ID,
        Harm.CRASH,
        "flags",
        f"{asked.algorithm} is not for this drafter, which is {_called(kind)}.",
        (
            *flag_evidence(case, flag),
            config_evidence(case.draft, "architectures", case.draft_facts.architecture or None),
        ),
        found,
        f"Launch it with {_said(asked.engine, flag, right[0])}.",
    )


def _fault(asked: Asked, kind: str) -> str:
    is_plain_eagle = asked.algorithm in ("EAGLE", "NEXTN", "eagle")
    return "algorithm-without-fc" if kind == "eagle3" and is_plain_eagle else _OTHER


_OTHER = "algorithm-for-another-drafter"


def _said(engine: str, flag: str, word: str) -> str:
    return f'"method": "{word}" in --{flag}' if engine == "vllm" else f"--{flag} {word}"


def _called(kind: str) -> str:
    names = {"eagle3": "an EAGLE-3 head", "eagle": "an EAGLE head", "mtp": "an MTP head"}
    return names.get(kind, "a model of its own")
