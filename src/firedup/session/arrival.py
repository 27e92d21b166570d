"""When log bytes arrived that were read later: by the sizes that the keeper noted each second."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import msgspec

from firedup.core.event import LogData, Sample
from firedup.host.file import read_file, stat_file
from firedup.host.link import Agent
from firedup.host.process import decode_sample

# What a second's sample takes at most in a large tree, so that enough of the file is read at once.
_SAMPLE_BYTES = 8192
_LEAST_BYTES = 64 * 1024


class Arrivals:
    """Dates bytes of the generation of the log that is seen first; `samples` go by time."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._generation: int | None = None
        self._marks: list[tuple[int, int]] = []
        for sample in samples:
            if self._marks and sample.log_size < self._marks[-1][0]:
                break  # it was rotated or truncated: later sizes are of another file
            if not self._marks or sample.log_size > self._marks[-1][0]:
                self._marks.append((sample.log_size, sample.at_ns))

    def date(self, event: LogData) -> Iterator[LogData]:
        """`event` in pieces, each with the time of its arrival as far as that is known."""
        if self._generation is None:
            self._generation = event.generation
        if event.generation != self._generation:
            yield event
            return
        at, data = event.offset, event.data
        for size, at_ns in self._marks:
            if size <= at or not data:
                continue
            piece, data = data[: size - at], data[size - at :]
            yield replace(event, at_ns=min(at_ns, event.at_ns), offset=at, data=piece)
            at += len(piece)
        if data:
            yield replace(event, offset=at, data=data)


async def load_arrivals(agent: Agent, folder: str, since_ns: int, now_ns: int) -> Arrivals:
    """From the samples that the keeper took after `since_ns` (host boottime)."""
    wanted_bytes = max(_LEAST_BYTES, (now_ns - since_ns) // 1_000_000_000 * _SAMPLE_BYTES)
    samples: list[Sample] = []
    for name in ("samples.jsonl", "samples.1.jsonl"):
        path = f"{folder}/{name}"
        facts = await stat_file(agent, path)
        if facts is None:
            break
        text = await read_file(agent, path, offset=max(0, facts.size - wanted_bytes))
        samples = [*_decode(text), *samples]
        if samples and samples[0].at_ns <= since_ns:
            break
    return Arrivals(sample for sample in samples if sample.at_ns > since_ns)


def _decode(text: bytes) -> Iterator[Sample]:
    for line in text.splitlines():
        try:
            yield decode_sample(msgspec.json.decode(line))
        except (msgspec.MsgspecError, KeyError, TypeError):
            continue  # the first may be cut, the last not be whole yet
