"""What `firedup flags` does: reads the pair, and composes a command for each engine."""

from __future__ import annotations

from dataclasses import replace

from firedup.cli.drive import run_async
from firedup.cli.knowledge import read_catalogue
from firedup.core.fitted import Fitted
from firedup.drafter.flags import Wish, fit
from firedup.drafter.known import demand_known, engines
from firedup.drafter.pair import Question, open_case, split_place
from firedup.profile.compose import compose_command


def fit_asked(
    target: str,
    draft: str,
    *,
    engine: str | None,
    version: str | None,
    tp: int | None,
    gpu_gb: float | None,
    host: str | None,
) -> tuple[Fitted, ...]:
    """The flags for `engine`, or for each engine that serves files of this form.

    UsageError for an engine of which no drafters are known, or a path that leads nowhere.
    """
    demand_known(engine, version)
    known = [one.engine for one in engines()]
    wish = Wish(split_place(draft)[1], tp, gpu_gb)
    wanted = [engine] if engine else known

    async def read() -> list[Fitted]:
        async with open_case(target, draft, Question(engine, version), host=host) as (case, _):
            is_gguf = bool(case.draft.gguf)
            names = [n for n in wanted if engine or (n == "llama-cpp") == is_gguf]
            return [fit(case, name, wish) for name in names]

    catalogue = read_catalogue()
    return tuple(
        replace(
            one,
            command=compose_command(
                catalogue,
                one.engine,
                target=split_place(target)[1],
                draft=wish.draft,
                speculation=one.words,
                tensor_parallel=tp if one.engine != "llama-cpp" else None,
            ),
        )
        for one in run_async(read())
    )
