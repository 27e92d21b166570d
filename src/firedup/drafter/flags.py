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
    doubts: list[str] = []
    if engine == "sglang":
        choices = [*_sglang(kind, wish, case, doubts)]
    elif engine == "vllm":
        choices = [*_vllm(kind, wish)]
    else:
        choices = [*_llama_cpp(kind, wish)]
    return Fitted(
        engine, known.title if known else engine, version, tuple(choices), doubts=tuple(doubts)
    )


def read_words(fitted: Fitted, tp: int | None) -> Launch:
    """The flags as checks read them."""
    return read_launch((fitted.engine, *fitted.words), dict(fitted.variables), tp)


def _word(engine: str, kind: str) -> str:
    return RIGHT.get((engine, kind), RIGHT[engine, _UNREAD])[0]


def _sglang(kind: str, wish: Wish, case: Case | None, doubts: list[str]) -> Iterator[Choice]:
    algorithm = _word("sglang", kind)
    because = {
        "EAGLE3": "EAGLE instead would start without a word and leave out fc",
        "EAGLE": "an EAGLE or MTP head, which reads the last hidden state alone",
        "STANDALONE": "a model of its own that drafts",
    }
    yield Choice(("--speculative-algorithm", algorithm), because[algorithm])
    yield Choice(
        ("--speculative-draft-model-path", wish.draft),
        "without it EAGLE3 loads the target twice and fails",
    )
    yield Choice(("--speculative-num-steps", str(STEPS)), _CHAIN)
    yield Choice(("--speculative-eagle-topk", "1"), "given with the steps, or SGLang fails")
    yield Choice(
        ("--speculative-num-draft-tokens", str(STEPS + 1)),
        "steps + 1, as SGLang takes it with top-k 1 anyway",
    )
    if case is not None:
        yield from _of_target(case, doubts)
    yield from _memory(wish, case, doubts)


def _of_target(case: Case, doubts: list[str]) -> Iterator[Choice]:
    if needs_own_backend(case):
        flag = "speculative-draft-attention-backend"
        if _has(flag, case.version):
            yield Choice(
                (f"--{flag}", "triton"),
                "the target's backend for latent attention does not suit this drafter; fa3 on"
                " Hopper or trtllm_mha on Blackwell may be faster",
            )
        else:
            doubts.append(f"--{flag} is needed, which this version does not have: use 0.5.7")
    flag = "speculative-draft-model-quantization"
    if case.target_facts.quantization and not _is_quantized(case):
        if _has(flag, case.version):
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


def _has(flag: str, version: str | None) -> bool:
    engine = engine_named("sglang")
    options = engine.option if engine else ()
    return any(flag in one.names and is_within(version, one.versions) for one in options)
