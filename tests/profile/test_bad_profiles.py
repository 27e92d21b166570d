"""One folder per mistake in `bad/`, each with the exact complaint."""

from __future__ import annotations

from pathlib import Path

import pytest

from firedup.profile.check import check_paths

BAD = Path(__file__).parent / "bad"

COMPLAINTS = {
    "unknown-key": """\
profile toy, rule up: a rule needs pattern = '…'
  profile.toml:7

profile toy, rule up: unknown key "patern"
  profile.toml:11
Did you mean "pattern"?

profile.toml: unknown key "comand"
  profile.toml:4
Did you mean "command"?""",
    "not-toml": """\
profile.toml is not TOML: Illegal character '\\n' (at line 4, column 9)
  profile.toml:4""",
    "no-examples": """\
profile toy, rule up: needs matches
  profile.toml:8
At least one full line that the pattern must hit.

profile toy, rule up: needs misses
  profile.toml:8
At least one near miss that the pattern must not hit.""",
    "look-around": """\
profile toy, rule up: the pattern cannot be used
  profile.toml:8
  pattern  toy is (?=up)
                  ^ look-ahead is not in the subset
Patterns are what RE2 and Hyperscan share; see docs/reference/profile-format.md.""",
    "unnamed-group": """\
profile toy, rule up: the pattern cannot be used
  profile.toml:8
  pattern  toy (is|was) up
               ^ a group without a name; write (?:…) or (?P<name>…)
Patterns are what RE2 and Hyperscan share; see docs/reference/profile-format.md.""",
    "no-fixed-text": """\
profile toy, rule up: the pattern has no fixed text of 4 characters
  profile.toml:8
  pattern  toy(?: is up| on)
  longest that every match must hold: "toy"
Add words that the line always holds; they make the search fast and precise.""",
    "example-not-matched": """\
profile toy, rule kv-cache-sized: the example line is not matched
  profile.toml:8
  line     INFO KV cache size: 1,203,456 tokens
  pattern  KV cache size: (?P<tokens>\\d+) tokens
                                         ^ stops here, at ",\"""",
    "miss-matched": """\
profile toy, rule up: the near miss is matched
  profile.toml:8
  line     who says that toy is up?
  pattern  toy is up
Narrow the pattern, or choose another line.""",
    "id-taken": """\
profile toy, rule up: the id is taken
  profile.toml:17
  first used at profile.toml:8
Ids are unique within an engine.""",
    "second-rule-hits": """\
profile toy, rule up: the example line is also hit by toy/up-and-ready
  profile.toml:8
  line     now toy is up and ready
  pattern  up and ready
Narrow one of them, or declare also = ["up-and-ready"].""",
    "capture-no-number": """\
profile toy, rule loading: the capture done is "two", not a number
  profile.toml:9
  line     loading part two of 8""",
    "unknown-stage": """\
profile toy, rule loading: stage is "load-weight", which is not one of args, dist-init, \
load-weights, draft-load, kv-cache, compile, graph-capture, warmup, ready, serving, other
  profile.toml:6
Did you mean "load-weights"?""",
    "failure-without-remedy": """\
profile toy, rule out-of-toys: needs remedy
  profile.toml:8
Say what the user can do.""",
    "since-after-until": """\
profile toy, rule up: since 0.10 is after until 0.9
  profile.toml:10""",
    "gauge-without-literal": """\
profile toy, rule speed: names gauges that the pattern does not capture: waiting
  profile.toml:9

profile toy, rule speed: is a gauge without literal
  profile.toml:9
Give the fixed text that each such line holds.""",
    "unknown-class": """\
profile toy, rule package-lost: the class cannot be used
  profile.toml:6
  class = "missing-pakage"
           ^^^^^^^^^^^^^^ no such class
Did you mean "missing-package"? A class of your own needs a [[class]] table with id and meaning.""",
    "class-without-meaning": """\
class out-of-toys: a class needs meaning
  profile.toml:4
One sentence that holds for all of its rules.""",
    "class-taken": """\
class out-of-toys: the id is taken
  profile.toml:9
  first used at profile.toml:5
A class is described once.""",
    "unknown-family": """\
class out-of-toys: the family cannot be used
  profile.toml:6
  family = "gpu-memry"
            ^^^^^^^^^ no such family
Did you mean "gpu-memory"?""",
    "mention-no-flag": """\
profile toy, rule package-lost: mentions has "toy size", which is neither a flag nor a variable
  profile.toml:10
Such as "--port", "-ngl" or "NCCL_ALGO".""",
    "unknown-folder": """\
profile toy: extends "shard", which is no folder of rules
  profile.toml:1
Did you mean "shared"?""",
}


@pytest.mark.parametrize("mistake", sorted(COMPLAINTS))
def test_each_mistake_gets_its_complaint(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BAD / mistake)

    problems = check_paths([Path("profile.toml")])

    assert "\n\n".join(map(str, problems)) == COMPLAINTS[mistake]


def test_every_folder_of_a_mistake_is_tried() -> None:
    assert {folder.name for folder in BAD.iterdir()} == set(COMPLAINTS)
