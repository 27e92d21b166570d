"""What is said of a server's processes that lived on after its end."""

from test_judgement import NS, Run

from firedup.core.event import Exited, StopAsked


def test_what_lives_on_after_the_end_is_named_with_its_memory_and_how_to_end_it() -> None:
    run = Run().log(1, "UP").idle(1, 5)
    run.feed(Exited(6 * NS, 6 * NS, 7, code=1, survivors=(7, 9)))

    found = {finding.id: finding for finding in run.at(7).explanation.findings}["left-behind"]

    assert found.message.startswith("2 processes of the server lived on after its end")
    assert [evidence.text for evidence in found.evidence] == [
        "pid 7 (sglang), 0 MiB of host memory at the last sample",
        "pid 9",
    ]
    assert found.remedy == "End what is left with firedup stop RUN."


def test_an_end_that_was_asked_for_leaves_that_to_the_stop() -> None:
    run = Run().log(1, "UP").feed(StopAsked(5 * NS, "firedup stop"))
    run.feed(Exited(6 * NS, 6 * NS, 7, code=0, survivors=(9,)))

    assert run.at(7).explanation.findings == ()
