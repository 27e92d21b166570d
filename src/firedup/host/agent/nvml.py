"""GPUs as the driver's library tells of them: memory, use, and whose processes they serve."""

import _thread
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Collection

_LIBRARY = "libnvidia-ml.so.1"
_LIBRARY_VARIABLE = "FIREDUP_NVML"  # another path of the library; for tests and odd systems
_DEVICES = ("/dev/nvidiactl", "/dev/nvidia0")
_GPUS_S = 2.0  # between two looks
_USERS_LOOKS = 5  # between two looks at whose processes they are, which cost more
_MOST_GPUS, _MOST_USERS = 32, 64
_UNKNOWN_BYTES = (1 << 64) - 1


class Nvml:
    """The library, loaded. OSError or AttributeError where it is none, or has no GPU to tell of."""

    def __init__(self, path: str) -> None:
        import ctypes

        self._c = ctypes
        self._lib = ctypes.CDLL(path)
        self._check(self._lib.nvmlInit_v2())
        count = ctypes.c_uint(0)
        self._check(self._lib.nvmlDeviceGetCount_v2(ctypes.byref(count)))
        self._handles = []
        for index in range(min(count.value, _MOST_GPUS)):
            handle = ctypes.c_void_p()
            self._check(self._lib.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)))
            self._handles.append(handle)
        self._lists_users = None  # type: Any
        for version in ("_v3", "_v2"):  # both write the same 24 bytes a process
            name = "nvmlDeviceGetComputeRunningProcesses" + version
            if hasattr(self._lib, name):
                self._lists_users = getattr(self._lib, name)
                break

    def _check(self, status: int) -> None:
        if status:
            raise OSError(f"the GPU library answers {status}")

    def devices(self) -> "list[dict[str, Any]]":
        """Of each GPU its memory and how busy it is; one that does not answer is left out."""
        memory, rates = (self._c.c_uint64 * 3)(), (self._c.c_uint * 2)()
        found = []
        for index, handle in enumerate(self._handles):
            if self._lib.nvmlDeviceGetMemoryInfo(handle, memory):
                continue
            total, _, used = memory
            facts = {"index": index, "used_bytes": used, "total_bytes": total}  # type: dict[str, Any]
            if not self._lib.nvmlDeviceGetUtilizationRates(handle, rates):
                facts["use"] = rates[0]
            found.append(facts)
        return found

    def users(self, index: int) -> "list[tuple[int, int]]":
        """The processes on a GPU: pid and bytes, -1 where the driver does not say."""
        if self._lists_users is None:
            return []
        entries = (self._c.c_uint64 * (3 * _MOST_USERS))()
        count = self._c.c_uint(_MOST_USERS)
        if self._lists_users(self._handles[index], self._c.byref(count), entries):
            return []
        found = []
        for at in range(0, 3 * min(count.value, _MOST_USERS), 3):
            used = entries[at + 1]
            found.append((entries[at] & 0xFFFFFFFF, -1 if used == _UNKNOWN_BYTES else used))
        return found


class Gpus:
    """Looks at the GPUs in a thread of its own, for a driver in trouble may never answer."""

    def __init__(self) -> None:
        self._pids = frozenset()  # type: Collection[int]
        self._newest = None  # type: list[dict[str, Any]] | None
        self._told = None  # type: list[dict[str, Any]] | None
        self._is_over = False

    def begin(self) -> None:
        """Starts the thread where there is a GPU to look at."""
        path = os.environ.get(_LIBRARY_VARIABLE)
        if path is None and any(map(os.path.exists, _DEVICES)):
            path = _LIBRARY
        if path:
            try:
                _thread.start_new_thread(self._look, (path,))
            except RuntimeError:  # no more threads for this user
                pass

    def end(self) -> None:
        """Lets the thread end after its present look."""
        self._is_over = True

    def take(self, pids: "Collection[int]") -> "list[dict[str, Any]] | None":
        """What is new since the last time; `pids` are the server's processes."""
        self._pids = pids
        if self._newest == self._told:
            return None
        self._told = self._newest
        return self._told

    def _look(self, path: str) -> None:
        try:
            nvml = Nvml(path)
        except (OSError, AttributeError):  # no such library, no driver, or one that is too old
            return
        looks = 0
        users = {}  # type: dict[int, list[tuple[int, int]]]
        while not self._is_over:
            found = nvml.devices()
            for facts in found:
                index = facts["index"]
                if looks % _USERS_LOOKS == 0:
                    users[index] = nvml.users(index)
                own = [list(user) for user in users.get(index, ()) if user[0] in self._pids]
                if own:
                    facts["users"] = own
            self._newest = found
            looks += 1
            time.sleep(_GPUS_S)
