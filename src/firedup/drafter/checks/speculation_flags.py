"""The launch flags for speculation are incomplete, or are changed when the server starts.

SGLang wants steps, top-k and draft tokens together, and with top-k 1 takes steps + 1 for the number
of draft tokens whatever was typed. EAGLE3 without a drafter loads the target twice before it fails.
vLLM guesses a method that is not named from the drafter's path.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.asked import Asked, asked_of, flag_evidence
from firedup.drafter.case import Case
from firedup.drafter.checks.algorithm import RIGHT
from firedup.drafter.consequence import consequences, worst_of

IDS = {
    "drafter-not-given": "The flags ask for a drafter's algorithm and name no drafter.",
    "drafter-without-algorithm": "The flags name a drafter and no algorithm.",
    "draft-steps-not-given": "The flags name top-k or draft tokens and no steps.",
    "draft-tokens-adjusted": "The number of draft tokens is not what SGLang will take.",
    "draft-tokens-not-given": "The speculative config does not say how many tokens to draft.",
    "method-not-named": "The speculative config does not name its method.",
    "token-map-ignored": "A token map is given beside an EAGLE-3 drafter.",
}
_OWN = ("EAGLE", "NEXTN")  # of models that bring their own MTP layers


def check(case: Case) -> Iterator[CheckFinding]:
    """All that the flags of the engine show."""
    asked = asked_of(case)
    if asked is None or not asked.wants_speculation:
        return
    if asked.engine == "sglang":
        yield from _sglang(case, asked)
    elif asked.engine == "vllm":
        yield from _vllm(case, asked)
    if asked.engine == "llama-cpp" and (asked.algorithm or "").startswith("draft-"):
        yield from _not_given(case, asked)


def _not_given(case: Case, asked: Asked) -> Iterator[CheckFinding]:
    if asked.draft is None:
        flag = {"sglang": "--speculative-draft-model-path", "llama-cpp": "--model-draft"}
        yield _finding(
            case,
            "drafter-not-given",
            f"{asked.algorithm} is asked for and no drafter is named.",
            ("speculative-algorithm", "spec-type"),
            f"Add {flag.get(asked.engine, 'the model')} {case.draft.path}.",
        )


def _sglang(case: Case, asked: Asked) -> Iterator[CheckFinding]:
    names = ("speculative-num-steps", "speculative-eagle-topk", "speculative-num-draft-tokens")
    if asked.algorithm in ("EAGLE3", "STANDALONE") or (
        asked.algorithm in _OWN and case.draft_facts.kind in ("eagle", "eagle3")
    ):
        yield from _not_given(case, asked)
    if asked.algorithm is None:
        right = RIGHT.get(("sglang", case.draft_facts.kind), ("EAGLE3",))[0]
        yield _finding(
            case,
            "drafter-without-algorithm",
            "A drafter is named and no algorithm: it will not be used.",
            ("speculative-draft-model-path", "speculative-draft-model"),
            f"Add --speculative-algorithm {right}.",
        )
    if asked.steps is None and (asked.top_k is not None or asked.draft_tokens is not None):
        yield _finding(
            case,
            "draft-steps-not-given",
            "Top-k or draft tokens are given without the number of steps.",
            names[1:],
            "Add --speculative-num-steps; all three belong together.",
        )
    is_chain = asked.steps is not None and asked.top_k == 1
    if is_chain and asked.draft_tokens not in (None, (asked.steps or 0) + 1):
        yield _finding(
            case,
            "draft-tokens-adjusted",
            f"{asked.draft_tokens} draft tokens are given; with top-k 1 and {asked.steps} steps"
            f" {(asked.steps or 0) + 1} are taken.",
            names,
            f"Write --speculative-num-draft-tokens {(asked.steps or 0) + 1}.",
        )
    if asked.token_map and asked.algorithm == "EAGLE3":
        yield _finding(
            case,
            "token-map-ignored",
            "EAGLE-3 drafters bring their map with them; the one given is not used.",
            ("speculative-token-map",),
            "Leave --speculative-token-map out.",
        )


def _vllm(case: Case, asked: Asked) -> Iterator[CheckFinding]:
    if asked.steps is None and asked.draft is not None:
        yield _finding(
            case,
            "draft-tokens-not-given",
            "num_speculative_tokens is not given.",
            ("speculative-config",),
            'Add "num_speculative_tokens": 3 to --speculative-config.',
        )
    kind = case.draft_facts.kind
    if asked.algorithm is not None or asked.draft is None or kind not in ("eagle3", "eagle"):
        return
    path = asked.draft.lower()
    right = RIGHT["vllm", kind][0]
    guess = "eagle" if "eagle-" in path else "eagle3" if "eagle3" in path else None
    fault = "method-guessed" if guess == right else "method-not-named"
    yield _finding(
        case,
        "method-not-named",
        f"No method is named; from its path the drafter is taken for {guess or 'a plain model'}.",
        ("speculative-config", "spec-model", "speculative-model"),
        f'Add "method": "{right}" to --speculative-config.',
        "method-guessed-eagle" if guess == "eagle" and kind == "eagle3" else fault,
    )


def _finding(
    case: Case,
    ident: str,
    message: str,
    flags: tuple[str, ...],
    remedy: str,
    fault: str | None = None,
) -> CheckFinding:
    asked = asked_of(case)
    found = consequences(fault or ident, engine=asked.engine if asked else None)
    harm = worst_of(found, Harm.RISK)
    return CheckFinding(ident, harm, "flags", message, flag_evidence(case, *flags), found, remedy)
