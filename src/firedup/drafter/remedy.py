"""What helps where a file of a checkpoint is not what it must be."""

from __future__ import annotations

from collections.abc import Iterable

from firedup.drafter.checkpoint import Damage
from firedup.host.agent.checkpoint import NO_CHECKPOINT, NO_WEIGHTS, SEVERAL_GGUF

# Reasons for which no checkpoint was found at all.
NOTHING_FOUND = (NO_WEIGHTS, SEVERAL_GGUF, NO_CHECKPOINT)
_AGAIN = "Download what is named again and compare its size with the hub's."
# Words of a reason, and what helps; all others are damages of the content.
_REMEDIES = (
    (NO_WEIGHTS, "Give the folder that holds the weights, or download them to it."),
    (SEVERAL_GGUF, "Give one of the GGUF files instead of their folder."),
    (NO_CHECKPOINT, "Give a folder with config.json, a safetensors file or a GGUF file."),
    ("not a file", "Put the file itself in its place."),
    ("may not read", "Let this user read what is named."),
    ("lead back to themselves", "Put the file itself in place of the link."),
    ("changed while it was read", "Wait until what writes the file has ended."),
    ("are not told", "Give the folder of one checkpoint alone."),
)


def remedy_of(damages: Iterable[Damage]) -> str:
    """A sentence for each kind of damage, in their order."""
    said = (_remedy(damage.why) for damage in damages)
    return " ".join(dict.fromkeys(said))


def _remedy(why: str) -> str:
    return next((remedy for words, remedy in _REMEDIES if words in why), _AGAIN)
