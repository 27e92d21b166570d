"""What a keeper writes into its run folder, on a disk that may be full for a while."""

import json
import os

from firedup.host.agent.system import write_all, write_atomically

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SAMPLES_LIMIT = 8 * 1024 * 1024


class Record:
    """The keeper's files. Only `write` raises; the rest must never end a keeper."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._owed = None  # type: tuple[str, dict[str, Any]] | None
        self._samples = -1
        self._texts = {}  # type: dict[int, tuple[dict[str, Any], str]]  # of processes
        self._complaints = set()  # type: set[str]

    def write(self, name: str, value: "dict[str, Any]") -> None:
        """Writes a JSON file whole or not at all; OSError when it cannot be."""
        text = json.dumps(value, sort_keys=True) + "\n"
        write_atomically(os.path.join(self.folder, name), text.encode("ascii"))

    def owe(self, name: str, value: "dict[str, Any]") -> None:
        """Writes a JSON file now, else whenever `is_settled` is asked."""
        self._owed = (name, value)
        self.is_settled()

    def is_settled(self) -> bool:
        """Tries what is still owed; True when there is nothing, or no run folder any more."""
        if self._owed is None:
            return True
        name, value = self._owed
        try:
            self.write(name, value)
        except OSError as error:
            self.complain(f"{name} not written: {error}")
            if os.path.isdir(self.folder):
                return False
        self._owed = None
        return True

    def add_sample(self, sample: "dict[str, Any]") -> None:
        """Appends a line to samples.jsonl, which becomes samples.1.jsonl at its limit."""
        line = self._encode(sample).encode("ascii") + b"\n"
        path = os.path.join(self.folder, "samples.jsonl")
        try:
            if self._samples >= 0 and os.fstat(self._samples).st_size > _SAMPLES_LIMIT:
                os.close(self._samples)
                self._samples = -1
                os.rename(path, os.path.join(self.folder, "samples.1.jsonl"))
            if self._samples < 0:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
                self._samples = os.open(path, flags, 0o600)
            size = os.fstat(self._samples).st_size
            try:
                write_all(self._samples, line)
            except OSError:
                os.ftruncate(self._samples, size)  # no half line before the next one
                raise
        except OSError as error:
            self.complain(f"sample not written: {error}")

    def _encode(self, sample: "dict[str, Any]") -> str:
        """The sample as JSON; the text of a process that did nothing is used again."""
        texts = {}
        for facts in sample["processes"]:
            known = self._texts.get(facts["pid"])
            if known is None or known[0] is not facts:
                known = (facts, json.dumps(facts, separators=(",", ":")))
            texts[facts["pid"]] = known
        self._texts = texts
        rest = json.dumps(dict(sample, processes=[]), separators=(",", ":"))
        processes = ",".join(text for _, text in texts.values())
        return rest.replace('"processes":[]', '"processes":[' + processes + "]", 1)

    def complain(self, text: str) -> None:
        """Says a new trouble once, in keeper.log; that may be on the same full disk."""
        if text in self._complaints:
            return
        self._complaints.add(text)
        try:
            write_all(2, (text + "\n").encode("utf-8", "replace"))
        except OSError:
            pass
