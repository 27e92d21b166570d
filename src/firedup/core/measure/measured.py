"""What a probe measured: requests, an arm under a load, and the conditions it holds for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from firedup.core.measure.acceptance import Counts
from firedup.core.measure.counter import Rise
from firedup.core.model import Acceptance

_NS = 1_000_000_000
# So many pieces, and so few moments, that the moments tell nothing of when each was sent.
_MANY_EVENTS, _FEW_ARRIVALS = 8, 3
_SPARSE_ARRIVALS, _TOGETHER = 8, 4


@dataclass(frozen=True, slots=True)
class Load:
    """How requests are offered: `concurrency` at a time, or `rate` a second whatever happens."""

    concurrency: int = 1
    rate: float | None = None

    @property
    def word(self) -> str:
        """As people write it: `8`, or `2.5/s`."""
        return str(self.concurrency) if self.rate is None else f"{self.rate:g}/s"


@dataclass(frozen=True, slots=True)
class Request:
    """One request and its answer; times are of the client's monotonic clock, in nanoseconds.

    `tokens` are those that the server says it generated; None when it does not. `events` is how
    many pieces they came in, which speculation makes fewer. `first_tokens`: how many came at the
    first moment, in so many pieces as `first_events`, and `most_tokens` with the fullest piece;
    None when the server does not say.
    `longest_gap_ns` is the longest wait between two pieces, since `gap_at_ns`; `gaps_ns` the time
    between tokens where it is known and was asked for. `arrivals`: at how many different moments
    the pieces came.
    `counts` are the request's own counters of speculation. `error` says why there is no answer, and
    then the times may be None. `turn`: which one of its conversation it is, the first is 1.
    """

    prompt: str  # its id
    category: str
    begun_ns: int
    first_ns: int | None = None
    last_ns: int | None = None
    prompt_tokens: int | None = None
    tokens: int | None = None
    events: int = 0
    first_tokens: int | None = None
    most_tokens: int | None = None
    longest_gap_ns: int | None = None
    gaps_ns: tuple[int, ...] | None = None
    arrivals: int | None = None
    counts: Counts | None = None
    finish: str | None = None  # "length", "stop"; as the server names it
    text: str = ""
    error: str | None = None
    is_warm_up: bool = False
    block: int = 0  # which visit of this arm: A B B A has 0 1 1 0 … as blocks 0 0 1 1
    turn: int = 1
    gap_at_ns: int | None = None
    first_events: int = 1

    @property
    def ttft_s(self) -> float | None:
        """Time to the first token."""
        return (self.first_ns - self.begun_ns) / _NS if self.first_ns is not None else None

    @property
    def is_burst(self) -> bool:
        """Whether many pieces came at so few moments that their times say nothing."""
        arrivals = self.arrivals
        if arrivals is None or self.events < _MANY_EVENTS:
            return False
        is_sparse = arrivals < _SPARSE_ARRIVALS and arrivals * _TOGETHER <= self.events
        return arrivals < _FEW_ARRIVALS or is_sparse

    @property
    def later_tokens(self) -> int | None:
        """Tokens after those of the first moment, which came with the prefill's end.

        Where the server does not count per piece, later pieces are taken to hold alike many.
        """
        if self.tokens is None:
            return None
        if self.first_tokens is not None:
            return self.tokens - self.first_tokens
        if self.first_events <= 1 or self.events <= 1:
            return self.tokens - 1
        return round((self.tokens - 1) * (self.events - self.first_events) / (self.events - 1))

    @property
    def tpot_s(self) -> float | None:
        """Time per output token after the first moment; None when all came at that.

        None also where all came in a few bursts: a client that was late, or behind a proxy that
        holds answers back, knows nothing of the server's pace.
        """
        later = self.later_tokens
        if self.first_ns is None or self.last_ns is None or not later or self.is_burst:
            return None
        return (self.last_ns - self.first_ns) / _NS / later if later > 0 else None

    @property
    def tokens_per_s(self) -> float | None:
        """Decoding speed of this one stream: 1 ÷ time per output token."""
        tpot_s = self.tpot_s
        return 1 / tpot_s if tpot_s else None


@dataclass(frozen=True, slots=True)
class Cell:
    """One arm under one load: its requests in the order of their beginning.

    `counters` is by how much the server's own rose meanwhile, other people's requests included.
    `acceptance` is by the best source there was, with its name, or None with the reason.
    """

    load: Load
    requests: tuple[Request, ...]
    counters: Rise | None = None
    acceptance: Acceptance | None = None

    @property
    def kept(self) -> tuple[Request, ...]:
        """Those that count: answered, and not warm-up."""
        return tuple(r for r in self.requests if r.error is None and not r.is_warm_up)

    @property
    def is_held_back(self) -> bool:
        """Whether most answers came in bursts, so that even the others have no pace to trust."""
        many = [one for one in self.kept if one.events >= _MANY_EVENTS]
        return 2 * sum(one.is_burst for one in many) > len(many)


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a measurement holds for; two arms are comparable where these agree.

    `flags` and `environment` are those of the server; `lengths` the tokens asked for, and whether
    ends are natural. None: not known (a bare URL says little).
    """

    engine: str | None = None
    version: str | None = None
    model: str | None = None
    host: str | None = None
    flags: tuple[str, ...] | None = None
    environment: Mapping[str, str] | None = None
    drafter: str | None = None
    draft_tokens: int | None = None
    max_tokens: int | None = None
    ignores_eos: bool = True
    prompts: str | None = None  # name, or a hash of a user's file
    seed: int = 0
    client: str = "direct"  # "tunnel" when the times include a tunnel's, "host" when run there
    speculates: bool | None = None  # as the server says
    adapts: bool = False  # the number of draft tokens, while it runs


@dataclass(frozen=True, slots=True)
class Arm:
    """One server as it was measured: `name` is `baseline` or `candidate`, or a run's name."""

    name: str
    conditions: Conditions
    cells: tuple[Cell, ...]
    wall_ns: int  # when the measurement began

    def at(self, load: Load) -> Cell | None:
        """The cell of that load."""
        return next((cell for cell in self.cells if cell.load == load), None)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval; `low` and `high` are None where it cannot be had."""

    value: float
    low: float | None = None
    high: float | None = None
    confidence: float = 0.95
    count: int = 0  # of independent prompts behind it
