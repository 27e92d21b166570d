"""Brings the rest of a drafter into its corrected copy: weights as links, all else as files."""

from __future__ import annotations

import shutil
from pathlib import Path

_WEIGHTS = (".safetensors", ".gguf", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".onnx")
_MOST_COPIED = 64 << 20  # a longer file is linked, whatever its name

Link = tuple[str, str]  # the file of the copy, by its path within, and where it leads


def bring_rest(source: Path, copy: Path, within: str = "") -> tuple[Link, ...]:
    """Bring what `copy` does not have yet; the links that were made. OSError.

    Only weights are links, and symbolic ones: a hard link would be the drafter's own file under
    another name, without anything to show it. Hidden folders (`.git`, `.cache`) stay behind, as
    they tell where the drafter came from, which the copy did not.
    """
    links: list[Link] = []
    for entry in sorted(source.iterdir()):
        new, name = copy / entry.name, f"{within}{entry.name}"
        if entry.is_dir() and not entry.is_symlink():
            if not entry.name.startswith("."):
                new.mkdir(exist_ok=True)
                links += bring_rest(entry, new, f"{name}/")
        elif not (new.exists() or new.is_symlink()):
            if _is_small(entry):
                shutil.copyfile(entry, new)  # without its mode: it may be read-only
            else:
                links.append((name, _link(entry, new)))
    return tuple(links)


def _is_small(entry: Path) -> bool:
    is_weight = entry.suffix.lower() in _WEIGHTS
    return entry.is_file() and not is_weight and entry.stat().st_size <= _MOST_COPIED


def _link(entry: Path, new: Path) -> str:
    """Where it leads: the file itself, past the links of the drafter's own, as in a hub's cache."""
    real = entry.resolve() if entry.exists() else entry.readlink()
    new.symlink_to(real)
    return str(real)
