"""Hundreds of thousands of tensors folded into a few hundred groups by their names."""

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_TOLD = 4000  # tensors that are told one by one, and groups
_FOLDED = re.compile(r"\.\d+(?![^.])")


class Folded:
    """Collects tensors file by file; `groups` counts them by (pattern, dtype, shape)."""

    def __init__(self) -> None:
        self.count = self.bytes = 0
        self.is_cut = False  # there were more different names than anybody gives tensors
        self._all = []  # type: list[list[Any]]
        # [count, length of the least name, that tensor, its file, and so of the greatest name]
        self._groups = {}  # type: dict[tuple[str, str, tuple[int, ...]], list[Any]]

    def add(self, file: int, entries: "list[Any]") -> None:
        """The tensors of the file with this number."""
        groups, fold = self._groups, _FOLDED.sub
        for entry in entries:
            begin, end, name, dtype, shape = entry
            self.bytes += end - begin
            key = (fold(".*", name), dtype, shape)
            group = groups.get(key)
            if group is None:
                if len(groups) >= MOST_TOLD:
                    self.is_cut = True
                    continue
                groups[key] = [1, len(name), entry, file, len(name), entry, file]
                continue
            group[0] += 1
            size = len(name)  # fewer digits are a smaller number
            if size < group[1] or (size == group[1] and name < group[2][2]):
                group[1:4] = size, entry, file
            elif size > group[4] or (size == group[4] and name > group[5][2]):
                group[4:7] = size, entry, file
        self.count += len(entries)
        if self.count <= MOST_TOLD:
            self._all += [_tell_tensor(file, entry) for entry in entries]

    @property
    def tensors(self) -> "list[list[Any]]":
        """[name, dtype, shape, number of the file, begin, end]: all, or two of each group."""
        if self.count <= MOST_TOLD:
            return self._all
        told = {}
        for _, _, first, first_file, _, last, last_file in self._groups.values():
            told[first[2]] = _tell_tensor(first_file, first)
            told[last[2]] = _tell_tensor(last_file, last)
        return list(told.values())

    @property
    def groups(self) -> "list[list[Any]]":
        """[pattern, dtype, shape, count] of all tensors."""
        return [[*key[:2], list(key[2]), group[0]] for key, group in self._groups.items()]


def _tell_tensor(file: int, entry: "Any") -> "list[Any]":
    begin, end, name, dtype, shape = entry
    return [name, dtype, list(shape), file, begin, end]
