"""Which launch flags fit a drafter and its target, per engine and version, each with its reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from firedup.core.checked import Harm
from firedup.core.fitted import Choice, Fitted
from firedup.drafter.case import Case, Launch
from firedup.drafter.checks.algorithm import RIGHT
from firedup.drafter.checks.attention_backend import needs_own_backend
from firedup.drafter.checks.config_dtype import differing_dtypes
from firedup.drafter.checks.drafter_context import ALLOWED
from firedup.drafter.judge import is_within, judge
from firedup.drafter.known import engine_named
from firedup.drafter.launch import read_launch

STEPS = 3
_UNREAD = "eagle3"  # what a drafter is taken for that could not be read
_CHAIN = (
    "a chain of 3: what drafters are measured with; trees of the same size lost to chains in"
    " SpecBundle"
)
_STEPS_OF_A_MODEL = "a chain of 3 to begin with; each step is a pass of the drafting model"
# SGLang's algorithms: why each is the one for the drafter, and why its path is given.
_ALGORITHM = {
    "EAGLE3": "EAGLE instead would start without a word and leave out fc",
    "EAGLE": "an EAGLE or MTP head, which reads the last hidden state alone",
    "STANDALONE": "a model of its own that drafts; the EAGLE algorithms are for heads",
}
_PATH = {
    "EAGLE3": "without it EAGLE3 loads the target twice and fails",
    "EAGLE": "without it the target's own MTP layers are looked for",
    "STANDALONE": "the model that drafts",
}
# It only tells of a step that takes so many seconds; 300 is the limit of the watchdog that kills.
SOFT_WATCHDOG = ("soft-watchdog-timeout", "300")
# Of the memory of a GPU: what graphs, activations and a drafter's own graphs need beside the pools.
_RESERVE, _LEAST_RESERVE_GB, _DRAFTER_GB = 0.08, 4.0, 2.0


@dataclass(frozen=True, slots=True)
class Wish:
    """What flags are for: `draft` as it is written in the command, GPU memory in GB if known."""

    draft: str
    tp: int | None = None
    gpu_gb: float | None = None


def fit(case: Case, engine: str, wish: Wish) -> Fitted:
    """The flags of `engine` for the pair of `case`, and what speaks against them."""
    fitted = fit_kind(engine, case.draft_facts.kind, wish, case)
    launch = read_words(fitted, wish.tp)
    findings, _ = judge(replace(case, engine=engine, launch=launch))
    grave = tuple(one for one in findings if one.harm is not Harm.NOTE)
    return replace(fitted, findings=grave)


def fit_kind(engine: str, kind: str, wish: Wish, case: Case | None = None) -> Fitted:
    """The same without looking for faults; without `case` for a pair that cannot be read."""
    known = engine_named(engine)
    version = case.version if case else None
    title = known.title if known else engine
    doubts: list[str] = []
    if (engine, kind) not in RIGHT and case is not None:
        doubts.append(f"{title} is not known to serve such a drafter; EAGLE-3 is taken for granted")
    if engine == "sglang":
        choices = [*_sglang(kind, wish, case, doubts)]
    elif engine == "vllm":
        choices = [*_vllm(kind, wish)]
    else:
        choices = [*_llama_cpp(kind, wish)]
    return Fitted(engine, title, version, tuple(choices), doubts=tuple(doubts))


def read_words(fitted: Fitted, tp: int | None) -> Launch:
    """The flags as checks read them."""
    return read_launch((fitted.engine, *fitted.words), dict(fitted.variables), tp)


def _word(engine: str, kind: str) -> str:
    return RIGHT.get((engine, kind), RIGHT[engine, _UNREAD])[0]


def _sglang(kind: str, wish: Wish, case: Case | None, doubts: list[str]) -> Iterator[Choice]:
    algorithm = _word("sglang", kind)
    yield Choice(("--speculative-algorithm", algorithm), _ALGORITHM[algorithm])
    yield Choice(("--speculative-draft-model-path", wish.draft), _PATH[algorithm])
    reason = _STEPS_OF_A_MODEL if algorithm == "STANDALONE" else _CHAIN
    yield Choice(("--speculative-num-steps", str(STEPS)), reason)
    yield Choice(("--speculative-eagle-topk", "1"), "given with the steps, or SGLang fails")
    yield Choice(
        ("--speculative-num-draft-tokens", str(STEPS + 1)),
        "steps + 1, as SGLang takes it with top-k 1 anyway",
    )
    if case is not None:
        yield from _of_target(case, doubts)
    yield from _memory(wish, case, doubts)
    if case is not None and case.version is not None and has_option(SOFT_WATCHDOG[0], case.version):
        yield Choice(
            (f"--{SOFT_WATCHDOG[0]}", SOFT_WATCHDOG[1]),
            "prints the stacks of a step that hangs, and kills nothing",
        )


def _of_target(case: Case, doubts: list[str]) -> Iterator[Choice]:
    if needs_own_backend(case):
        flag = "speculative-draft-attention-backend"
        if has_option(flag, case.version):
            yield Choice(
                (f"--{flag}", "triton"),
                "the target's backend for latent attention does not suit this drafter; fa3 on"
                " Hopper or trtllm_mha on Blackwell may be faster",
            )
        else:
            doubts.append(f"--{flag} is needed, which this version does not have: use 0.5.7")
    flag = "speculative-draft-model-quantization"
    if case.target_facts.quantization and not _is_quantized(case):
        if has_option(flag, case.version):
            yield Choice(
                (f"--{flag}", "unquant"),
                "the target is quantised, the drafter is not and would inherit --quantization",
            )
        else:
            doubts.append("leave --quantization out: the drafter would inherit it")
    if (dtypes := differing_dtypes(case)) is not None:
        yield Choice(("--dtype", dtypes[0]), f"the drafter's config says {dtypes[1]}")
    own, served = case.draft_facts.max_positions, case.target_facts.max_positions
    if own and served and own < served and not case.draft.gguf:
        yield Choice(
            (f"{ALLOWED}=1",),
            f"the target has {served:,} positions, the drafter {own:,}: SGLang would refuse;"
            f" --context-length {own} would do as well",
            is_variable=True,
        )


def _memory(wish: Wish, case: Case | None, doubts: list[str]) -> Iterator[Choice]:
    if wish.gpu_gb is None:
        doubts.append("--mem-fraction-static: say how much memory a GPU has, with --gpu-memory")
        return
    reserve = max(_LEAST_RESERVE_GB, _RESERVE * wish.gpu_gb) + _DRAFTER_GB
    share = int(100 * (1 - reserve / wish.gpu_gb)) / 100
    if share <= 0:
        doubts.append(f"{wish.gpu_gb:g} GB are too little for graphs and a drafter")
        return
    reason = f"leaves {reserve:.0f} GB for graphs, activations and those of the drafter"
    sizes = (case.target.tensor_bytes, case.draft.tensor_bytes) if case else (0, 0)
    if all(sizes):
        weights = sum(sizes) / 1e9 / (wish.tp or 1)
        reason += f"; weights take {weights:.1f} of {share * wish.gpu_gb:.1f} GB on each rank"
        if weights >= share * wish.gpu_gb:
            doubts.append(f"{weights:.1f} GB of weights on each rank do not fit; use more GPUs")
    yield Choice(("--mem-fraction-static", f"{share:.2f}"), reason)


def _vllm(kind: str, wish: Wish) -> Iterator[Choice]:
    method = _word("vllm", kind)
    config = {"method": method, "model": wish.draft, "num_speculative_tokens": STEPS}
    words = ("--speculative-config", json.dumps(config, separators=(",", ":")))
    yield Choice(
        words,
        "the method is named, since vLLM guesses it from the drafter's path; 3 tokens are what"
        " drafters are measured with",
    )


def _llama_cpp(kind: str, wish: Wish) -> Iterator[Choice]:
    yield Choice(("--model-draft", wish.draft), "the drafter's GGUF file")
    yield Choice(
        ("--spec-type", _word("llama-cpp", kind)),
        "a drafter of another kind is served without speculation, and only the log says so",
    )
    yield Choice(("--spec-draft-n-max", str(STEPS)), "the default, written down")


def _is_quantized(case: Case) -> bool:
    config = case.draft.config
    return bool(config.get("quantization_config") or config.get("compression_config"))


def has_option(flag: str, version: str | None) -> bool:
    """Whether a version of SGLang has the launch flag, written without its dashes."""
    engine = engine_named("sglang")
    options = engine.option if engine else ()
    return any(flag in one.names and is_within(version, one.versions) for one in options)
