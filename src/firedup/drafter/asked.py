"""What the flags of a launch ask of speculation, whichever engine's they are."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.core.model import Evidence
from firedup.drafter.case import Case, Launch

_SGLANG = "speculative-"
_JSON = "speculative-config."


@dataclass(frozen=True, slots=True)
class Asked:
    """Values as they were typed; None for what no flag says. `algorithm` is vLLM's method, too."""

    engine: str
    algorithm: str | None = None
    draft: str | None = None
    steps: int | None = None
    top_k: int | None = None
    draft_tokens: int | None = None
    context: int | None = None
    dtype: str | None = None
    quantization: str | None = None
    draft_quantization: str | None = None
    attention: str | None = None
    draft_attention: str | None = None
    rejection_sampling: bool = False
    token_map: str | None = None

    @property
    def wants_speculation(self) -> bool:
        """Whether it asks for any."""
        return self.algorithm not in (None, "none") or self.draft is not None


def asked_of(case: Case) -> Asked | None:
    """What the flags ask, None when there are none or they are those of no engine known."""
    engine = case.engine or engine_of(case.launch)
    flags = case.launch.flags
    if engine is None or not (case.launch.argv or flags):
        return None
    if engine == "sglang":
        return _sglang(case.launch)
    if engine == "vllm":
        return _vllm(case.launch)
    return Asked(
        engine,
        flags.get("spec-type"),
        _first(case.launch, "model-draft", "md", "spec-draft-model"),
        steps=_number(flags.get("spec-draft-n-max")),
        context=_number(_first(case.launch, "ctx-size", "c")),
    )


def engine_of(launch: Launch) -> str | None:
    """Whose flags these are, going by those that only one engine has."""
    flags = launch.flags
    if any(name in flags for name in ("speculative-config", "spec-method", "spec-model")):
        return "vllm"
    if any(name.startswith(_SGLANG) for name in flags) and "max-model-len" not in flags:
        return "sglang"
    if any(name in flags for name in ("spec-type", "model-draft", "md")):
        return "llama-cpp"
    words = " ".join(launch.argv)
    known = {"sglang": "sglang", "vllm": "vllm", "llama-server": "llama-cpp"}
    return next((engine for word, engine in known.items() if word in words), None)


def flag_evidence(case: Case, *names: str) -> tuple[Evidence, ...]:
    """The flags as they were given, without those that were not."""
    flags = case.launch.flags
    return tuple(
        Evidence("command", f"--{name}" + ("" if flags[name] == "true" else f" {flags[name]}"))
        for name in names
        if name in flags
    )


def _sglang(launch: Launch) -> Asked:
    flags = launch.flags
    return Asked(
        "sglang",
        _upper(flags.get("speculative-algorithm") or flags.get("speculative-algo")),
        _first(launch, "speculative-draft-model-path", "speculative-draft-model"),
        _number(flags.get("speculative-num-steps")),
        _number(flags.get("speculative-eagle-topk")),
        _number(flags.get("speculative-num-draft-tokens")),
        _number(flags.get("context-length")),
        flags.get("dtype"),
        flags.get("quantization"),
        flags.get("speculative-draft-model-quantization"),
        _first(launch, "attention-backend", "decode-attention-backend"),
        flags.get("speculative-draft-attention-backend"),
        "speculative-use-rejection-sampling" in flags,
        flags.get("speculative-token-map"),
    )


def _vllm(launch: Launch) -> Asked:
    flags = launch.flags
    tokens = flags.get(f"{_JSON}num_speculative_tokens") or flags.get("spec-tokens")
    return Asked(
        "vllm",
        flags.get(f"{_JSON}method") or flags.get("spec-method"),
        flags.get(f"{_JSON}model") or _first(launch, "spec-model", "speculative-model"),
        steps=_number(tokens),
        context=_number(flags.get("max-model-len")),
        dtype=flags.get("dtype"),
        quantization=flags.get("quantization"),
        draft_quantization=flags.get(f"{_JSON}quantization"),
    )


def _first(launch: Launch, *names: str) -> str | None:
    return next((launch.flags[name] for name in names if name in launch.flags), None)


def _upper(text: str | None) -> str | None:
    return text.upper() if text else None


def _number(text: str | None) -> int | None:
    """1024, and vLLM's 32k (thousands) and 32K (1024s); None for all else."""
    if not text:
        return None
    unit = {"k": 1000, "K": 1024, "m": 10**6, "M": 2**20}.get(text[-1], 1)
    digits = text if unit == 1 else text[:-1]
    return int(digits) * unit if digits.isascii() and digits.isdigit() else None
