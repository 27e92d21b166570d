"""The demo's models as real files, what each is for, and damaged copies of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from firedup.core.error import StoreError


@dataclass(frozen=True, slots=True)
class Model:
    """One of the models in `model/`; the README there says how they were made.

    `speculation` is the value of `--spec-type` with which it drafts for TARGET, None for TARGET.
    """

    file: str
    meaning: str
    sha256: str
    speculation: str | None = None


TARGET = Model(
    "target-q8.gguf",
    "the target model: 2.2 million parameters, knows parts of Python's standard library by heart",
    "af02ed611459868251c1e817362bf888f397ff94114e22a096e717306e5d76a0",
)
TRAINED = Model(
    "eagle3-v2-f16.gguf",
    "an EAGLE-3 drafter that was trained for the target",
    "1a7a4436d261b7df67a16926c7252c51130d77871082a572ea3f7f2f6cc69099",
    "draft-eagle3",
)
UNTRAINED = Model(
    "random-eagle3-f16.gguf",
    "an EAGLE-3 drafter of the same shape with random weights",
    "cbeda9028c139a76020366ea0fd6d4317efab40d1df6059c9109664d612e0d66",
    "draft-eagle3",
)
OTHER_VOCABULARY = Model(
    "othervocab-draft-f16.gguf",
    "a draft model with another vocabulary, which the engine loads and then does not use",
    "520bef8e4148bcd669e16df524703f52113d16806e6ea847fd7050efd4dc4ef9",
    "draft-simple",
)
PLAIN = Model(
    "draft-v2-f16.gguf",
    "an ordinary small draft model that was trained on the target's output",
    "98d069d3941bd0b8ffba4c93832bf50e2440ece9b947935d6b59487f5e531877",
    "draft-simple",
)
MODELS = (TARGET, TRAINED, UNTRAINED, OTHER_VOCABULARY, PLAIN)


def model_path(model: Model) -> Path:
    """Return the model's file; StoreError when the package is not installed as plain files."""
    path = files("firedup.demo").joinpath("model", model.file)
    if isinstance(path, Path) and path.is_file():
        return path
    raise StoreError(
        f"the demo's model {model.file} is not a file here",
        where=str(path),
        why="the package seems to run from an archive, and the engine reads its models from disk",
        todo="Install firedup with pip.",
    )


def read_resource(name: str) -> bytes:
    """Return the bytes of one of the small files that lie beside the models."""
    return files("firedup.demo").joinpath("model", name).read_bytes()


def is_intact(model: Model) -> bool:
    """Whether the installed file is the one that was published."""
    return hashlib.sha256(model_path(model).read_bytes()).hexdigest() == model.sha256


def truncate_copy(model: Model, folder: Path, *, kept_fraction: float = 0.5) -> Path:
    """Write the first part of `model` into `folder`: what an interrupted download leaves.

    Half of a model keeps the header intact, so that only the tensors beyond the cut are missing;
    a thousandth of it ends inside the header.
    """
    if not 0.0 < kept_fraction < 1.0:
        raise ValueError(f"kept_fraction is between 0 and 1, not {kept_fraction}")
    data = model_path(model).read_bytes()
    copy = folder / f"truncated-{model.file}"
    copy.write_bytes(data[: int(len(data) * kept_fraction)])
    return copy
