"""llama-server's flags as the demo's engine understands them: argv in, options out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SPECULATION = (
    "none", "draft-simple", "draft-eagle3", "draft-mtp", "draft-dflash", "draft-dspark",
    "ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache",
)  # fmt: skip
LOUDEST = 2**31 - 1  # what llama-server's -v stands for


class FlagError(Exception):
    """A flag that llama-server would refuse; the text is what it would print."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the flags ask for. None leaves the engine's own default."""

    model: str = ""
    draft: str = ""
    alias: str | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    context: int = 0  # tokens; 0 = as trained
    threads: int | None = None
    parallel: int = 1
    batch: int | None = None
    micro_batch: int | None = None
    speculation: tuple[str, ...] = ("none",)
    draft_most: int | None = None
    draft_least: int | None = None
    draft_p_min: float | None = None
    synthetic_length: float | None = None
    synthetic_rates: tuple[float, ...] = ()
    api_keys: tuple[str, ...] = ()
    verbosity: int | None = None
    has_warmup: bool = True
    has_slots: bool = True
    wants_help: bool = False


def _kinds(text: str) -> tuple[str, ...]:
    for kind in text.split(","):
        if kind not in SPECULATION:
            raise ValueError(f"unknown speculative type: {kind}")
    return tuple(text.split(","))


def _floats(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split(","))


@dataclass(frozen=True, slots=True)
class Flag:
    """One row of the flag table: with `read` it takes a value, without it sets `value`."""

    names: tuple[str, ...]
    field: str | None
    help: str
    read: Callable[[str], Any] | None = None
    value: Any = True


FLAGS = (
    Flag(("-h", "--help", "--usage"), "wants_help", "print this and exit"),
    Flag(("-m", "--model"), "model", "the model (GGUF)", str),
    Flag(("-md", "--model-draft", "--spec-draft-model"), "draft", "the draft model (GGUF)", str),
    Flag(("-a", "--alias"), "alias", "the model's name in the API", str),
    Flag(("--host",), "host", "address to listen on (default 127.0.0.1)", str),
    Flag(("--port",), "port", "port to listen on (default 8080)", int),
    Flag(("-c", "--ctx-size"), "context", "context in tokens (default 0: as trained)", int),
    Flag(("-t", "--threads"), "threads", "threads (default: usable CPUs)", int),
    Flag(("-np", "--parallel"), "parallel", "slots (default 1)", int),
    Flag(("-b", "--batch-size"), "batch", "logical batch, tokens", int),
    Flag(("-ub", "--ubatch-size"), "micro_batch", "physical batch, tokens", int),
    Flag(("--spec-type",), "speculation", ",".join(SPECULATION), _kinds),
    Flag(("--spec-draft-n-max",), "draft_most", "most tokens per draft (default 3)", int),
    Flag(("--spec-draft-n-min",), "draft_least", "least tokens per draft (default 0)", int),
    Flag(("--spec-draft-p-min",), "draft_p_min", "least probability of a drafted token", float),
    Flag(("--spec-synth-len",), "synthetic_length", "fake acceptance of this length", float),
    Flag(("--spec-synth-rates",), "synthetic_rates", "fake acceptance by position", _floats),
    Flag(("--api-key",), "api_keys", "key or keys, separated by commas", str),
    Flag(("-v", "--verbose", "--log-verbose"), "verbosity", "log everything", value=LOUDEST),
    Flag(("-lv", "--verbosity", "--log-verbosity"), "verbosity", "log level (default 3)", int),
    Flag(("--warmup",), "has_warmup", "run the model once at the start (default)"),
    Flag(("--no-warmup",), "has_warmup", "do not", value=False),
    Flag(("--slots",), "has_slots", "serve /slots (default)"),
    Flag(("--no-slots",), "has_slots", "do not", value=False),
    Flag(("--metrics",), None, "serve /metrics (always done here)"),
)
BY_NAME = {name: flag for flag in FLAGS for name in flag.names}
REMOVED = {
    **dict.fromkeys(
        ("--draft", "--draft-n", "--draft-max"),
        "use --spec-draft-n-max or --spec-ngram-mod-n-max",
    ),
    **dict.fromkeys(
        ("--draft-min", "--draft-n-min"),
        "use --spec-draft-n-min or --spec-ngram-mod-n-min",
    ),
}


def parse_flags(argv: Sequence[str]) -> Options:
    """llama-server's flags (without the program) as Options; FlagError says what is wrong.

    As in llama-server, names are matched in full and a value is the next word, whatever it is.
    """
    options = Options()
    words = iter(argv)
    for word in words:
        if word in REMOVED:
            raise FlagError(_complaint(word, f"the argument has been removed. {REMOVED[word]}"))
        flag = BY_NAME.get(word)
        if flag is None:
            raise FlagError(f"error: invalid argument: {word}")
        value = _value(flag, word, words)
        if flag.field == "api_keys":
            value = (*options.api_keys, *value.split(","))
        if flag.field is not None:
            options = replace(options, **{flag.field: value})
    if not options.model and not options.wants_help:
        raise FlagError("error: --model is required")
    return options


def _value(flag: Flag, word: str, words: Iterator[str]) -> Any:
    if flag.read is None:
        return flag.value
    text = next(words, None)
    if text is None:
        raise FlagError(_complaint(word, "expected value for argument"))
    try:
        return flag.read(text)
    except ValueError as problem:
        raise FlagError(_complaint(word, str(problem))) from None


def _complaint(word: str, what: str) -> str:
    usage = f"\n\nusage:\n{render_flag(BY_NAME[word])}" if word in BY_NAME else ""
    hint = "to show complete usage, run with -h"
    return f'error while handling argument "{word}": {what}{usage}\n\n{hint}'


def render_flag(flag: Flag) -> str:
    """One line of the usage text."""
    names = ", ".join(flag.names) + (" VALUE" if flag.read else "")
    return f"{names:<44} {flag.help}"
