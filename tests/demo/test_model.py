"""The demo's models and prompts as they are installed."""

import pytest

from firedup.demo.model import MODELS, TARGET, is_intact, model_path, read_resource, truncate_copy
from firedup.demo.prompt import load_prompts


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.file)
def test_every_model_is_the_published_file_and_the_readme_names_it(model):
    readme = read_resource("README.md").decode()

    assert is_intact(model)
    assert f"{model.sha256}  {model.file}" in readme
    assert f"{model_path(model).stat().st_size:,}" in readme


def test_a_truncated_copy_is_the_beginning_of_the_model(tmp_path):
    whole = model_path(TARGET).read_bytes()

    half = truncate_copy(TARGET, tmp_path).read_bytes()

    assert len(half) == len(whole) // 2
    assert whole.startswith(half)


@pytest.mark.parametrize("fraction", [0.0, 1.0])
def test_a_copy_that_is_not_damaged_is_refused(tmp_path, fraction):
    with pytest.raises(ValueError, match="between 0 and 1"):
        truncate_copy(TARGET, tmp_path, kept_fraction=fraction)


def test_the_prompts_are_twelve_different_passages_with_their_continuation():
    prompts = load_prompts()

    assert len({prompt.text for prompt in prompts}) == 12
    assert all(len(prompt.continuation) == 60 for prompt in prompts)
