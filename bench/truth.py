"""What `explain` says of labelled logs, and the probe of a server with a ledger."""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.truth_probe import BARS as PROBE_BARS
from bench.truth_probe import measure_probe
from firedup.core.error import UsageError
from firedup.core.model import Verdict
from firedup.session.explain import explain_path, explain_stream, load_matcher

if TYPE_CHECKING:
    from bench.result import Result
    from firedup.core.model import Explanation
    from firedup.core.rule import Matcher

# Characters of a root line that must be met, and the fewest that a shortened line must have.
ENOUGH, MIN_PART = 60, 12
FOLDER = Path(__file__).parent.parent / "tests/data/engine-runs"
ROOT_BARS = {"root_line": 0.90, "root_line_high": 0.95}
BARS = {**ROOT_BARS, "false_crashes": 0, "false_prefixes": 0}
# How outcomes are called in labels, and which verdicts say the same.
OUTCOMES = {
    "crash": {"crashed"},
    "serving-crash": {"crashed"},
    # A log alone cannot always tell a hang from a load that goes on.
    "hang": {"stalled", "loading"},
    "loading": {"stalled", "loading"},
    "ready": {"ready", "stopped"},
}


@dataclass(frozen=True, slots=True)
class Label:
    """What is right about one log. `roots`: parts of the lines that state the cause first."""

    path: Path
    verdicts: frozenset[str]
    roots: tuple[str, ...]
    confidence: str


@dataclass(slots=True)
class Score:
    """Right answers out of all."""

    right: int = 0
    all: int = 0

    def add(self, *, is_right: bool) -> None:
        """Count one answer."""
        self.right += is_right
        self.all += 1

    @property
    def share(self) -> float | None:
        """In 0..1; None when nothing was asked."""
        return round(self.right / self.all, 4) if self.all else None

    def __str__(self) -> str:
        return f"{self.right}/{self.all}" + (f" {self.share:.1%}" if self.share is not None else "")


def main(argv: list[str]) -> Result:
    """Explain every labelled log and count, listing misses; then probe, unless logs are given."""
    parser = argparse.ArgumentParser(prog="./dev bench truth", description=__doc__)
    parser.add_argument(
        "labels",
        nargs="*",
        type=Path,
        help="labels.jsonl or expect.jsonl beside more logs (default: the recorded runs)",
    )
    parser.add_argument(
        "--prefixes",
        type=int,
        default=20,
        help="beginnings to try of each log that did not crash (default %(default)s)",
    )
    parser.add_argument(
        "--requests", type=int, default=32, help="for each load of the probe (default %(default)s)"
    )
    parser.add_argument("--misses", type=int, default=40, help="how many to list")
    asked = parser.parse_args(argv)
    files = asked.labels or sorted(FOLDER.glob("*/expect.jsonl"))
    labels = [label for file in files for label in read_labels(file)]
    if not labels:
        sys.exit("bench truth: no labelled log was found")
    scores = {
        name: Score() for name in ("verdict", "healthy", "prefix", "root_line", "root_line_high")
    }
    misses: list[str] = []
    matcher = load_matcher()
    for label in labels:
        try:
            explanation = explain_path(str(label.path), matcher=matcher)
        except UsageError as error:
            sys.exit(f"bench truth: {error.what}")
        misses += _judge(label, explanation, scores)
        # Where several starts share a file, an earlier one may well have crashed.
        if "crashed" not in label.verdicts and explanation.starts <= 1:
            misses += _try_prefixes(label, matcher, asked.prefixes, scores["prefix"])
    result = _conclude(scores, misses[: asked.misses])
    return result if asked.labels else _with_probe(result, asked.requests)


def _with_probe(result: Result, requests: int) -> Result:
    """The same with what the probe says of a server whose every token is known."""
    figures, rows = measure_probe(requests)
    is_met = all(float(figures[name] or 0) <= float(bar or 0) for name, bar in PROBE_BARS.items())
    return {
        "figures": result["figures"] | figures,
        "bars": result["bars"] | PROBE_BARS,
        "met": result["met"] and is_met,
        "table": "\n".join([result["table"], *rows]),
    }


def read_labels(file: Path) -> Iterator[Label]:
    """The labels of both forms: `log` with lists of verdicts, or `id` with an `outcome`."""
    for row in file.read_text().splitlines():
        given: dict[str, Any] = json.loads(row)
        if "id" in given:
            outcomes = [given["outcome"], *_listed(given.get("outcome_also"))]
            verdicts = frozenset().union(*(OUTCOMES.get(o, {o}) for o in outcomes))
            name = f"{given['id']}.log"
        else:
            verdicts, name = frozenset(given["verdict"]), given["log"]
        roots = [given.get("root_line"), *_listed(given.get("root_also"))]
        if given.get("root_absent"):
            roots = []
        # The recorded runs name their log from the folder above.
        path = next(p for p in (file.parent / name, file.parent.parent / name) if p.exists())
        yield Label(
            path, verdicts, tuple(root for root in roots if root), given.get("confidence", "high")
        )


def _listed(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []


def _judge(label: Label, explanation: Explanation, scores: dict[str, Score]) -> list[str]:
    verdict, cause = str(explanation.verdict), explanation.cause
    misses = []
    is_right = verdict in label.verdicts
    scores["verdict"].add(is_right=is_right)
    if not is_right:
        misses.append(f"{label.path.name}: {verdict}, not {' or '.join(sorted(label.verdicts))}")
    if "crashed" not in label.verdicts:
        scores["healthy"].add(is_right=verdict != "crashed")
    elif label.roots:
        is_found = cause is not None and is_same(cause.line, label.roots)
        scores["root_line"].add(is_right=is_found)
        if label.confidence == "high":
            scores["root_line_high"].add(is_right=is_found)
        if not is_found:
            shown = cause.line[:100] if cause else "no line"
            misses.append(f"{label.path.name}: {shown}\n    not  {label.roots[0][:100]}")
    return misses


def _try_prefixes(label: Label, matcher: Matcher, count: int, score: Score) -> list[str]:
    """Explain the first lines alone of a log that did not crash, `count` times more and more."""
    data = label.path.read_bytes()
    ends = [found.end() for found in re.finditer(rb"\n", data)]
    misses = []
    for end in ends[:: max(1, -(-len(ends) // count))] if count else []:
        explanation = explain_stream(io.BytesIO(data[:end]), matcher=matcher)
        is_right = explanation.verdict is not Verdict.CRASHED
        score.add(is_right=is_right)
        if not is_right:
            misses.append(f"{label.path.name}: its first {end} bytes were called crashed")
    return misses


def is_same(line: str, roots: tuple[str, ...]) -> bool:
    """Whether `line` is one of the root lines, or a good part of it.

    A label is a part of a line, of which the beginning suffices; blanks and case do not count.
    """
    found = _squeeze(line)
    for root in map(_squeeze, roots):
        is_part = len(found) >= max(MIN_PART, 0.4 * len(root)) and found in root
        if root[:ENOUGH] in found or is_part:
            return True
    return False


def _squeeze(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().lower()


def _conclude(scores: dict[str, Score], misses: list[str]) -> Result:
    false_crashes = scores["healthy"].all - scores["healthy"].right
    false_prefixes = scores["prefix"].all - scores["prefix"].right
    shares = {name: scores[name].share for name in ("verdict", "root_line", "root_line_high")}
    rows = [*misses, f"{'verdict':24}{scores['verdict']}"]
    rows.append(f"{'root line':24}{scores['root_line']}")
    rows.append(f"{'  of sure labels':24}{scores['root_line_high']}")
    rows.append(f"{'false crashes':24}{false_crashes}/{scores['healthy'].all}")
    rows.append(f"{'  of beginnings':24}{false_prefixes}/{scores['prefix'].all}")
    return {
        "figures": {
            **shares,
            "logs": scores["verdict"].all,
            "false_crashes": false_crashes,
            "false_prefixes": false_prefixes,
        },
        "bars": dict(BARS),
        "met": false_crashes == false_prefixes == 0
        and all((share := shares[name]) is None or share >= bar for name, bar in ROOT_BARS.items()),
        "table": "\n".join(rows),
    }
