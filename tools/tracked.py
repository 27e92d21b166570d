"""Lists the files of the tree that git knows or would take."""

from __future__ import annotations

import subprocess
from pathlib import Path


def list_files(root: Path, *suffixes: str) -> list[Path]:
    """Return the tracked and the new files below `root`, sorted; with `suffixes` only those."""
    argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    output = subprocess.run(argv, cwd=root, capture_output=True, check=True).stdout
    paths = (root / name.decode() for name in output.split(b"\0") if name)
    return sorted(
        path for path in paths if path.is_file() and (not suffixes or path.suffix in suffixes)
    )
