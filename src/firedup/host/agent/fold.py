"""Hundreds of thousands of tensors folded into a few hundred groups by their names."""

import re

from firedup.host.agent.tensorfile import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_TOLD = 4000  # tensors that are told one by one, and groups
_FOLDED = re.compile(r"(?<=\.)\d+(?=\.|$)")


class Folded:
    """Collects tensors file by file; `groups` counts them by (pattern, dtype, shape)."""

    def __init__(self) -> None:
        self.count = self.bytes = 0
        self.is_cut = False  # there were more different names than anybody gives tensors
        self._all = []  # type: list[list[Any]]
        # [count, shortest and first name with its place, longest and last]
        self._groups = {}  # type: dict[tuple[str, str, tuple[int, ...]], list[Any]]

    def add(self, file: int, entries: "list[Entry]") -> None:
        """The tensors of the file with this number."""
        groups, fold = self._groups, _FOLDED.sub
        for entry in entries:
            name, dtype, shape, begin, end = entry
            self.bytes += end - begin
            key = (fold("*", name), dtype, shape)
            order = (len(name), name)
            group = groups.get(key)
            if group is None:
                if len(groups) >= MOST_TOLD:
                    self.is_cut = True
                    continue
                groups[key] = [1, order, (file, entry), order, (file, entry)]
                continue
            group[0] += 1
            if order < group[1]:
                group[1], group[2] = order, (file, entry)
            elif order > group[3]:
                group[3], group[4] = order, (file, entry)
        self.count += len(entries)
        if self.count <= MOST_TOLD:
            self._all += [_tell(file, entry) for entry in entries]

    @property
    def tensors(self) -> "list[list[Any]]":
        """[name, dtype, shape, number of the file, begin, end]: all, or two of each group."""
        if self.count <= MOST_TOLD:
            return self._all
        ends = [(group[2], group[4]) for group in self._groups.values()]
        told = {entry.name: _tell(file, entry) for pair in ends for file, entry in pair}
        return list(told.values())

    @property
    def groups(self) -> "list[list[Any]]":
        """[pattern, dtype, shape, count] of all tensors."""
        return [[*key[:2], list(key[2]), group[0]] for key, group in self._groups.items()]


def _tell(file: int, entry: "Entry") -> "list[Any]":
    return [entry.name, entry.dtype, list(entry.shape), file, entry.begin, entry.end]
