"""On which hosts a run may be that this machine does not know."""

from __future__ import annotations

import os

from firedup.cli.links import find_hosts
from firedup.store.index import IndexedRun, index_path, open_index

KIMI, QWEN = "20261129-182259-kimi-4f2a", "20261129-190000-qwen-11bb"


def put(*runs: tuple[str, str, str]) -> None:
    with open_index(index_path(os.environ)) as index:
        index.put(IndexedRun(host, found, name, "/f") for host, found, name in runs)


def test_a_run_is_known_by_its_name_and_by_the_beginning_of_its_id() -> None:
    put(("box", KIMI, "kimi"), ("lab", QWEN, "qwen"), ("local", QWEN, "kimi"))

    assert find_hosts("kimi") == find_hosts("kimi~1") == find_hosts("20261129-18") == ["box"]
    assert set(find_hosts("20261129")) == {"box", "lab"}
    assert find_hosts("kim") == find_hosts("") == find_hosts("~1") == []


def test_a_run_on_several_hosts_is_that_of_its_head() -> None:
    put(("lab", f"{KIMI}-n1", "kimi"), ("box", KIMI, "kimi"), ("far", f"{KIMI}-n2", "kimi"))

    assert find_hosts("kimi") == ["box"]


def test_a_name_on_two_hosts_is_on_both() -> None:
    put(("lab", KIMI, "kimi"), ("box", QWEN, "kimi"))

    assert set(find_hosts("kimi")) == {"box", "lab"}
