"""Run llama.cpp's server (the `xllamacpp` library) as a process with llama-server's flags.

    python -m firedup.demo.engine -m target.gguf -md drafter.gguf --spec-type draft-eagle3

The library is the server without its executable; this module is that executable. The log is the
engine's own, letter for letter. Exit status as llama-server's: 0 after SIGTERM or SIGINT, 1 when a
flag is wrong or the server fails; and 2 when this machine lacks what the engine needs.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firedup.demo.flag import FLAGS, FlagError, Options, parse_flags, render_flag

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

MODULE = "firedup.demo.engine"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class EngineMissingError(Exception):
    """The machine lacks the engine or something that it needs; the text says what to do."""


def engine_command(*flags: str, python: str | None = None) -> tuple[str, ...]:
    """Return the argv that runs this engine with llama-server's `flags`."""
    return (python or sys.executable, "-m", MODULE, *flags)


def load_engine(cpu_info: Path = Path("/proc/cpuinfo")) -> ModuleType:
    """Import the library. EngineMissingError when it, libgomp or the CPU's AVX2 is not there."""
    if _lacks_avx2(cpu_info):
        raise EngineMissingError(
            "the demo's engine needs a CPU with AVX2 (Intel 2013, AMD 2015 or later), and this"
            " one does not report it.\nUse `firedup demo --replay`, which needs no engine."
        )
    try:
        return importlib.import_module("xllamacpp")
    except ModuleNotFoundError as problem:
        if problem.name != "xllamacpp":
            raise
        raise EngineMissingError(
            "the demo's engine is not installed: there is no Python package xllamacpp here.\n"
            "Install it with: pip install 'firedup[demo]'"
        ) from None
    except ImportError as problem:
        todo = (
            "Install the OpenMP runtime: apt-get install libgomp1 (Debian, Ubuntu),"
            " dnf install libgomp (Fedora, RHEL)."
            if "libgomp" in str(problem)
            else "It needs glibc 2.17, libstdc++.so.6 and libgomp.so.1."
        )
        raise EngineMissingError(f"the demo's engine cannot be loaded: {problem}\n{todo}") from None


def _lacks_avx2(cpu_info: Path) -> bool:
    if os.uname().machine not in ("x86_64", "AMD64"):
        return False
    try:
        flags = [line for line in cpu_info.read_text().splitlines() if line.startswith("flags")]
    except OSError:
        return False
    return bool(flags) and "avx2" not in flags[0].split()


def fill_parameters(library: Any, options: Options) -> Any:
    """Build the library's CommonParams for `options`."""
    params = library.CommonParams()
    params.model.path = options.model
    params.hostnames = [options.host]
    params.port = options.port
    params.n_ctx = options.context
    params.n_parallel = options.parallel
    params.api_keys = list(options.api_keys)
    params.warmup = options.has_warmup
    params.endpoint_metrics = True
    params.endpoint_slots = options.has_slots
    if options.alias is not None:
        params.model_alias = {options.alias}
    for name, value in (
        ("n_batch", options.batch),
        ("n_ubatch", options.micro_batch),
        ("verbosity", options.verbosity),
    ):
        if value is not None:
            setattr(params, name, value)
    _fill_speculation(library, params.speculative, options)
    # The drafter has thread counts of its own; unset, it would take every core.
    threads = options.threads or usable_cpus()
    draft = params.speculative.draft
    for cpu in (params.cpuparams, params.cpuparams_batch, draft.cpuparams, draft.cpuparams_batch):
        cpu.n_threads = threads
    return params


def usable_cpus() -> int:
    """How many CPUs this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _fill_speculation(library: Any, speculative: Any, options: Options) -> None:
    kinds = library.common_speculative_type
    speculative.types = [
        kinds["COMMON_SPECULATIVE_TYPE_" + kind.upper().replace("-", "_")]
        for kind in options.speculation
    ]
    speculative.draft.mparams.path = options.draft
    for owner, name, value in (
        (speculative.draft, "n_max", options.draft_most),
        (speculative.draft, "n_min", options.draft_least),
        (speculative.draft, "p_min", options.draft_p_min),
        (speculative, "synth_len", options.synthetic_length),
        (speculative, "synth_rates", list(options.synthetic_rates) or None),
    ):
        if value is not None:
            setattr(owner, name, value)


def serve(library: Any, options: Options) -> int:
    """Run the server until SIGTERM or SIGINT; 0 after an orderly end, 1 when it did not start."""
    params = fill_parameters(library, options)
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    # The engine's threads must inherit blocked signals, or one of them would take ours and die of
    # it. Until the model is loaded one thread of our own stays open to them, so that a stop during
    # a long load works as it does with llama-server: at once, by the signal.
    is_loaded = threading.Event()
    open_thread = threading.Thread(target=is_loaded.wait, daemon=True)
    open_thread.start()
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        server = library.Server(params)
    except RuntimeError:
        return 1  # the engine's log has said why
    finally:
        is_loaded.set()
        open_thread.join()
    signal.sigwait(STOP_SIGNALS)
    del server  # its destructor ends the requests, the HTTP server and the model
    return 0


def main(argv: Sequence[str]) -> int:
    """Run the program: flags in, exit status out."""
    try:
        options = parse_flags(argv)
    except FlagError as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    if options.wants_help:
        usage = [f"usage: python -m {MODULE} -m MODEL [flags]", *map(render_flag, FLAGS), ""]
        sys.stdout.write("\n".join(usage))
        return 0
    try:
        library = load_engine()
    except EngineMissingError as problem:
        sys.stderr.write(f"error: {problem}\n")
        return 2
    return serve(library, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
