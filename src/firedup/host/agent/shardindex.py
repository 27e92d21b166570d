"""Which files of weights a folder must have: by its index, or by how their names count."""

import os
import re

from firedup.host.agent.document import FlawError, parse_json, read_all

_MOST_INDEX = 100000000
_MOST_FILES = 4096
_SERIES = re.compile(r"(.*-)(\d{5})-of-(\d{5})(\.safetensors)")


def read_index(path: str) -> "dict[str, set[str]]":
    """The file names that the index refers to, with the tensors that each must hold."""
    value = parse_json(read_all(path, _MOST_INDEX))
    weights = value.get("weight_map") if isinstance(value, dict) else None
    if not isinstance(weights, dict) or not weights:
        raise FlawError("the index has no readable weight_map")
    promised = {}  # type: dict[str, set[str]]
    for tensor, file in weights.items():
        if file not in promised:
            if type(file) is not str or os.path.isabs(file) or ".." in file.split("/"):
                raise FlawError(f"the index sends a tensor to {str(file)[:80]!r}")
            if len(promised) == _MOST_FILES:
                raise FlawError(f"the index names more than {_MOST_FILES:,} files")
            promised[file] = set()
        promised[file].add(tensor)
    return promised


def missing_of_series(names: "list[str]") -> "list[str]":
    """The files that belong to model-00001-of-00064.safetensors and are not there."""
    missing = []
    for name in names:
        found = _SERIES.fullmatch(name)
        if found is None or int(found.group(3)) > _MOST_FILES:
            continue
        head, _, count, tail = found.groups()
        whole = [f"{head}{part:05}-of-{count}{tail}" for part in range(1, int(count) + 1)]
        missing += [other for other in whole if other not in names and other not in missing]
    return missing
