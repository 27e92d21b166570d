"""Whether the GPUs of a host can take a server: what is in use, by whom, and what it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from firedup.core.model import Evidence, Finding, ServerSpec, Severity

_GIB = 1 << 30
# Engine → the flags of its share of GPU memory, and the share that it takes without one.
_SHARES: dict[str, tuple[tuple[str, ...], float]] = {
    "vllm": (("--gpu-memory-utilization",), 0.9),
    "sglang": (("--mem-fraction-static",), 0.88),
}
# With these the weights of a rank are not the weights divided by the tensor parallelism.
_SPREADS = (
    "--pipeline-parallel-size",
    "-pp",
    "--pp-size",
    "--pp",
    "--cpu-offload-gb",
    "--data-parallel-size",
    "--dp-size",
    "--nnodes",
    "--distributed-executor-backend",
    "--enable-expert-parallel",
    "--load-format",
    "--quantization",
)
_VISIBLE = "CUDA_VISIBLE_DEVICES"
_IN_USE = 0.05  # of a GPU's memory; a display and the driver take less


def check_gpus(
    gpus: Sequence[Mapping[str, Any]] | None,
    spec: ServerSpec,
    env: Mapping[str, str],
    weights: int,
    own: Sequence[int] = (),
) -> list[Finding]:
    """What speaks against the launch in the GPUs that it would take; `own` will be gone by then."""
    if not gpus or spec.engine not in _SHARES:
        return []
    ranks = spec.tensor_parallel or 1
    chosen = _choose(gpus, env.get(_VISIBLE), ranks)
    found = [finding for gpu in chosen for finding in _check_use(gpu, spec, own)]
    if len(chosen) < ranks and not _has_any(spec, _SPREADS):
        text = f"{len(chosen)} GPUs are visible here, {_VISIBLE}={env.get(_VISIBLE, 'unset')}"
        found.append(
            Finding(
                "gpus-too-few",
                Severity.SEVERE,
                f"The command wants {ranks} GPUs.",
                (Evidence("sample", text),),
                f"Lower the tensor parallelism, or let more be seen with {_VISIBLE}.",
            )
        )
    return found + _check_weights(chosen, spec, weights, ranks)


def _check_use(gpu: Mapping[str, Any], spec: ServerSpec, own: Sequence[int]) -> list[Finding]:
    used, total = int(gpu["used_bytes"]), int(gpu["total_bytes"])
    users = [user for user in gpu.get("users", ()) if user["pid"] not in own]
    is_own_alone = bool(gpu.get("users")) and not users
    if used < _IN_USE * total or is_own_alone:
        return []
    share = _share_of(spec)
    is_short = total - used < share * total
    # vLLM gives up when less than its share is free; SGLang takes its share of what is left.
    is_doomed = is_short and spec.engine == "vllm"
    orphans = [user for user in users if user.get("parent") == 1]
    said = ", ".join(_name(user) for user in users[:3]) or "processes that are not seen from here"
    text = f"GPU {gpu['index']}: {_gib(used)} of {_gib(total)} in use by {said}"
    asked = f"; the server wants {share:.0%} of it" if is_short else ""
    message = f"GPU {gpu['index']} is in use already{asked}."
    if orphans:
        message = f"GPU {gpu['index']} is held by what an earlier server left behind{asked}."
    stop = " ".join(str(user["pid"]) for user in orphans or users)
    return [
        Finding(
            "gpu-orphan" if orphans else "gpu-memory-in-use",
            Severity.SEVERE if is_doomed else Severity.WARNING,
            message,
            (Evidence("sample", text),),
            f"End it (kill {stop}), or choose other GPUs with {_VISIBLE}." if stop else None,
        )
    ]


def _check_weights(
    gpus: Sequence[Mapping[str, Any]], spec: ServerSpec, weights: int, ranks: int
) -> list[Finding]:
    if not weights or not gpus or _has_any(spec, _SPREADS):
        return []
    least = min(int(gpu["total_bytes"]) for gpu in gpus)
    share, each = _share_of(spec), weights // ranks
    if each <= share * least:
        return []
    text = f"{_gib(weights)} of weights ÷ {ranks} = {_gib(each)}; {share:.0%} of {_gib(least)}"
    fits = each <= 0.97 * least
    return [
        Finding(
            "weights-exceed-gpu-memory",
            Severity.SEVERE,
            "The weights of a rank do not fit into the share of a GPU that the server takes.",
            (Evidence("sample", f"{text} = {_gib(int(share * least))}"),),
            f"Raise {_SHARES[spec.engine or ''][0][0]}." if fits else "Use more GPUs (--tp).",
        )
    ]


def _choose(
    gpus: Sequence[Mapping[str, Any]], visible: str | None, ranks: int
) -> list[Mapping[str, Any]]:
    """The GPUs that the server would take, the first ones; by number where it is told so."""
    if visible is None:
        return list(gpus[:ranks])
    words = [word.strip() for word in visible.split(",") if word.strip()]
    if not all(word.isdigit() for word in words):
        return list(gpus[:ranks])  # by names that only the driver knows
    known = {int(gpu["index"]): gpu for gpu in gpus}
    return [known[int(word)] for word in words if int(word) in known][:ranks]


def _share_of(spec: ServerSpec) -> float:
    flags, share = _SHARES[spec.engine or ""]
    for number, word in enumerate(spec.argv):
        name, has_value, value = word.partition("=")
        if name in flags:
            text = value if has_value else next(iter(spec.argv[number + 1 :]), "")
            try:
                return float(text)
            except ValueError:
                return share
    return share


def _has_any(spec: ServerSpec, flags: Sequence[str]) -> bool:
    return any(word.partition("=")[0] in flags for word in spec.argv)


def _name(user: Mapping[str, Any]) -> str:
    run = f", of run {user['run']}" if user.get("run") else ""
    return f"pid {user['pid']} ({user.get('name') or 'not seen from here'}{run})"


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / _GIB:.1f} GiB"
