"""What stands before a message tells who wrote it and when."""

from __future__ import annotations

import re
from itertools import permutations

import pytest

from firedup.core.log.form import COLLECTORS, RANK, RECORDS, TITLE, Form
from firedup.core.log.prefix import parse_prefix, strip_escapes
from firedup.core.model import Source

DAY_NS = 1_767_225_600 * 1_000_000_000  # 2026-01-01 00:00:00 UTC


@pytest.mark.parametrize(
    ("text", "message", "source"),
    [
        ("[2026-01-01 00:00:00 TP3] Load weight begin.", "Load weight begin.", Source("TP3")),
        ("[2026-01-01 00:00:00 DP1 PP0 TP3] x", "x", Source("DP1 PP0 TP3")),
        ("[2026-01-01 00:00:00] INFO:     x", "INFO:     x", Source()),
        (
            "(EngineCore_DP0 pid=12) INFO 01-01 00:00:00 [core.py:93] x",
            "x",
            Source("DP0", 12, "EngineCore_DP0"),
        ),
        ("(Worker_TP3_EP3 pid=7) ERROR 01-01 00:00:00 [a.py:1]   File", "  File", None),
        ("(RayWorkerWrapper pid=9, ip=10.0.0.2) x", "x", Source(None, 9, "RayWorkerWrapper")),
        ("[rank3]:[E101 00:00:00.1 ProcessGroupNCCL.cpp:1] x", None, Source("rank3")),
        ("[rank0]: Traceback (most recent call last):", None, Source("rank0")),
        ("sglang-1  | [2026-01-01 00:00:00 TP0] x", "x", Source("TP0")),
        ("sglang-1\u00a0| [2026-01-01 00:00:00 TP0] x", "x", Source("TP0")),
        ("sglang-1 \u00a0|\u00a0[2026-01-01 00:00:00 TP0] x", "x", Source("TP0")),
        ("2026-01-01T00:00:00.5Z [2026-01-01 00:00:00 TP0] x", "x", Source("TP0")),
        ("2026-01-01 00:00:00 Traceback (most recent", "Traceback (most recent", Source()),
        ("[pod/sglang-0/main] [2026-01-01 00:00:00 TP0] x", "x", Source("TP0")),
        ("plain text (with pid=3) and [2026] brackets", None, Source()),
        ("gpu01: [2026-01-01 00:00:00 TP0] x", "x", Source("TP0")),
        (
            "    (Worker_TP3 pid=7) INFO 01-01 00:00:00 [a.py:1] x",
            "x",
            Source("TP3", 7, "Worker_TP3"),
        ),
        ("[server] [2026-01-01 00:00:00 TP0] x", "x", Source("TP0")),
        ("sgl-0 server [2026-01-01 00:00:00 TP0] x", "x", Source("TP0")),
        ("the last line of them all was: [2026-01-01 00:00:00 TP0] x", None, Source()),
        ("[2026-01-01 00:00:00] [2026-01-01 00:00:00 TP0] x", "x", Source("TP0")),
    ],
)
def test_the_writer_of_a_line_is_read_from_its_prefix(
    text: str, message: str | None, source: Source | None
) -> None:
    prefix = parse_prefix(text, 2026)

    if message is not None:
        assert text[prefix.length :] == message
    if source is not None:
        assert prefix.source == source


FORMS = [*COLLECTORS, TITLE, RANK, *RECORDS]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.reads[0])
def test_a_form_reads_its_examples_and_no_other_line(form: Form) -> None:
    for example in form.reads:
        found = re.match(form.pattern, f"{example}Load weight begin.")
        assert found is not None
        assert found.group() == example
        assert parse_prefix(f"{example}Load weight begin.", 2026).length >= len(example.rstrip())
    for other in form.leaves:
        assert re.match(form.pattern, other) is None


def test_a_collectors_labels_are_peeled_off_whatever_their_order() -> None:
    labels = [form.reads[0] for form in COLLECTORS]

    for outer, inner in permutations(labels, 2):
        text = f"{outer}{inner}(Worker_TP3 pid=7) INFO 01-01 00:00:00 [a.py:1] x"
        prefix = parse_prefix(text, 2026)
        assert text[prefix.length :] == "x", text
        assert prefix.collected == len(outer + inner), text


def test_a_rank_in_a_process_title_is_a_rank() -> None:
    text = "(Worker_TP3_EP3 pid=7) ERROR 01-01 00:00:00 [a.py:1] x"

    assert parse_prefix(text, 2026).source.rank == "TP3 EP3"


def test_the_year_is_filled_in_where_the_engine_leaves_it_out() -> None:
    assert parse_prefix("INFO 01-01 00:00:01 [a.py:1] x", 2026).stamp_ns == DAY_NS + 10**9


def test_milliseconds_count() -> None:
    assert parse_prefix("[2026-01-01 00:00:00.250 TP0] x", 1970).stamp_ns == DAY_NS + 250_000_000


def test_a_record_glued_to_a_progress_bar_keeps_its_rank() -> None:
    text = "Capturing: 35%|###| 18/52 [01:40<03:00,  5.60s/it][2026-01-01 00:00:00 TP5] failed"

    prefix = parse_prefix(text, 2026)

    assert prefix.source.rank == "TP5"
    assert text[prefix.length :] == "failed"


def test_an_impossible_date_is_no_time() -> None:
    assert parse_prefix("[2026-13-41 00:00:00] x", 2026).stamp_ns is None


def test_llama_cpp_counts_from_its_start() -> None:
    assert parse_prefix("1.02.003.004 I srv  init: x", 2026).stamp_ns == 62_003_004_000


def test_colours_titles_and_other_control_sequences_are_taken_out() -> None:
    assert strip_escapes("\x1b[1;32mok\x1b[0m \x1b]0;title\x07end\x1b=") == "ok end"


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("(EngineCore pid=1) WARNING 01-01 00:00:00 [a.py:1] x", "WARNING"),
        ("0.00.001.002 E srv  load_model: x", "ERROR"),
        ("[2026-01-01 00:00:00] ERROR:    [Errno 98] x", "ERROR"),
        ("/opt/a.py:52: UserWarning: x", None),
        ("UserWarning: x", "WARNING"),
        ("[2026-01-01 00:00:00 TP0] Load weight begin.", None),
    ],
)
def test_the_level_is_known_where_the_prefix_says_it(text: str, level: str | None) -> None:
    assert parse_prefix(text, 2026).level == level


def test_what_an_engine_core_passes_on_has_the_worker_as_its_source() -> None:
    record = "ERROR 11-29 10:00:09 [w.py:6] no"
    text = f"(EngineCore_DP0 pid=1) (RayWorkerWrapper pid=2, ip=10.0.0.2) {record}"
    prefix = parse_prefix(text, 2026)

    assert (prefix.source.title, prefix.source.pid) == ("RayWorkerWrapper", 2)
    assert text[prefix.length :] == "no"
