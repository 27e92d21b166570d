"""Files on the host: look, list, read, append, make and remove."""

import binascii
import errno
import os
import stat as modes

from firedup.host.agent.stream import Stream
from firedup.host.agent.system import (
    AgentError,
    boottime_ns,
    read_whole,
    runs_folder,
    write_all,
)
from firedup.host.agent.wire import DATA, DATA_HEADER, DATA_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LIST_LIMIT = 100000
_REMOVE_TRIES = 5


def describe_file(path: str) -> "dict[str, Any]":
    """What `stat` says about a path (links followed); it must exist."""
    found = os.stat(path)
    kind = "other"
    if modes.S_ISREG(found.st_mode):
        kind = "file"
    elif modes.S_ISDIR(found.st_mode):
        kind = "folder"
    return {
        "path": path,
        "kind": kind,
        "size": found.st_size,
        "mode": modes.S_IMODE(found.st_mode),
        "uid": found.st_uid,
        "dev": found.st_dev,
        "ino": found.st_ino,
        "modified_wall_ns": found.st_mtime_ns,
        "real_path": os.path.realpath(path),
    }


def op_stat(args: "dict[str, Any]") -> "dict[str, Any]":
    """stat {path}: what it is, how large, how old."""
    return describe_file(args["path"])


def op_list(args: "dict[str, Any]") -> "dict[str, Any]":
    """list {path}: names with kind, size and age, sorted."""
    entries = []  # type: list[dict[str, Any]]
    is_cut = False
    for entry in os.scandir(args["path"]):
        if len(entries) == _LIST_LIMIT:
            is_cut = True
            break
        try:
            found = entry.stat()
            kind = "folder" if modes.S_ISDIR(found.st_mode) else "file"
            if not modes.S_ISREG(found.st_mode) and kind == "file":
                kind = "other"
            size, modified = found.st_size, found.st_mtime_ns
        except OSError:  # a dangling link, or gone since
            kind, size, modified = "other", 0, 0
        entries.append(
            {"name": entry.name, "kind": kind, "size": size, "modified_wall_ns": modified}
        )
    entries.sort(key=lambda e: str(e["name"]))
    return {"entries": entries, "is_cut": is_cut}


def _content(args: "dict[str, Any]") -> bytes:
    return binascii.a2b_base64(args["data"])


def op_append(args: "dict[str, Any]") -> "dict[str, Any]":
    """append {path, data}: one O_APPEND write; the file is made (0600) where missing."""
    data = _content(args)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    file = os.open(args["path"], flags, 0o600)
    try:
        written = os.write(file, data)
        if written < len(data):  # a nearly full disk: finish, or raise what is wrong
            write_all(file, data[written:])
        return {"size": os.fstat(file).st_size}
    finally:
        os.close(file)


def op_mkdir(args: "dict[str, Any]") -> "dict[str, Any]":
    """mkdir {path}: the folder and its parents, 0700 where they are new."""
    made = make_folder(args["path"])
    return {"made": made}


def make_folder(path: str) -> bool:
    """Makes a private folder with its parents; False when it was there already."""
    if os.path.isdir(path):
        return False
    parent = os.path.dirname(path)
    if parent and parent != path:
        make_folder(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return False
    return True


def op_remove(args: "dict[str, Any]") -> "dict[str, Any]":
    """remove {path}: a file or a folder with all in it, only inside the runs folder."""
    path = os.path.abspath(args["path"])
    parent = os.path.realpath(os.path.dirname(path))
    root = os.path.realpath(runs_folder())
    if parent != root and not parent.startswith(root + os.sep):
        raise AgentError("refused", f"{path} is not inside {root}, so it is not removed")
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
    else:
        _remove_folder(path)
    return {}


def _remove_folder(path: str) -> None:
    """A client that still watches the run may add a file to it meanwhile."""
    import shutil

    for left in reversed(range(_REMOVE_TRIES)):
        try:
            shutil.rmtree(path)
        except OSError as error:
            if not left or error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        else:
            return


class Read(Stream):
    """read {path, offset?, length?}: the bytes as DATA, then {size, offset}."""

    silence = "end"

    def open(self) -> None:
        """Opens the file."""
        self.offset = int(self.args.get("offset", 0))
        length = self.args.get("length")
        self.end_offset = None if length is None else self.offset + int(length)
        self.file = self.find()

    def find(self) -> int:
        """A descriptor of what is to be read."""
        return open_regular(self.args["path"])

    def produce(self, room: int) -> "tuple[int, bytes] | None":
        """The next piece."""
        want = min(room, DATA_LIMIT)
        if self.end_offset is not None:
            want = min(want, self.end_offset - self.offset)
        data = os.pread(self.file, want, self.offset) if want > 0 else b""
        if not data:
            return self.end({"size": os.fstat(self.file).st_size, "offset": self.offset})
        header = DATA_HEADER.pack(boottime_ns(), 0, self.offset)
        self.offset += len(data)
        return DATA, header + data

    def close(self) -> None:
        """Closes the file."""
        os.close(self.file)


def open_regular(path: str) -> int:
    """A file descriptor for reading; refuses folders, pipes and devices."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not modes.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise AgentError("not-a-file", f"{path} is not a regular file")
    return file


def op_which(args: "dict[str, Any]") -> "dict[str, Any]":
    """which {program, path?, cwd?}: the file that would be executed, or null."""
    program = os.path.expanduser(args["program"])
    cwd = args.get("cwd") or os.getcwd()
    if os.sep in program:
        candidates = [os.path.join(cwd, program)]
    else:
        search = args.get("path")
        search = os.environ.get("PATH", os.defpath) if search is None else search
        folders = [os.path.join(cwd, folder or ".") for folder in search.split(os.pathsep)]
        candidates = [os.path.join(folder, program) for folder in folders]
    files = [c for c in candidates if os.path.isfile(c)]
    usable = [c for c in files if os.access(c, os.X_OK)]
    found = os.path.normpath(usable[0]) if usable else None
    return {"found": found, "unusable": files[0] if files and not usable else None}


def find_mount(path: str) -> "tuple[str, str]":
    """(mount point, file-system type) that holds the path."""
    real = os.path.realpath(path)
    best = ("/", "unknown")
    for line in (read_whole("/proc/self/mountinfo") or b"").decode("utf-8", "replace").split("\n"):
        head, _, tail = line.partition(" - ")
        fields = head.split(" ")
        if len(fields) < 5 or not tail:
            continue
        point = fields[4].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        inside = point in ("/", real) or real.startswith(point + "/")
        if inside and len(point) >= len(best[0]):
            best = (point, tail.split(" ")[0])
    return best


def op_paths(args: "dict[str, Any]") -> "dict[str, Any]":
    """paths {paths}: for each, whether and what it is, who may, and how much room there is."""
    return {"paths": [_describe_path(path) for path in args["paths"]]}


def _describe_path(path: str) -> "dict[str, Any]":
    value = {"path": path, "exists": os.path.exists(path)}  # type: dict[str, Any]
    if value["exists"]:
        value.update(describe_file(path))
    value["is_link"] = os.path.islink(path)
    value["is_readable"] = os.access(path, os.R_OK)
    value["is_writable"] = os.access(path, os.W_OK)
    nearest = os.path.abspath(path)
    while not os.path.exists(nearest):
        nearest = os.path.dirname(nearest)
    room = os.statvfs(nearest)
    value["nearest"] = nearest  # the closest folder above that exists: what could be made there
    value["is_nearest_writable"] = os.access(nearest, os.W_OK)
    value["free_bytes"] = room.f_bavail * room.f_frsize
    value["total_bytes"] = room.f_blocks * room.f_frsize
    value["free_inodes"] = room.f_favail
    value["mount"], value["file_system"] = find_mount(nearest)
    return value
