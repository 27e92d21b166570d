import pytest

from firedup.view.change import render_change


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("--tp", "8", "4", "--tp 8 → 4"),
        ("--trust-remote-code", None, "", "--trust-remote-code not given → given"),
        ("-c", None, "4096", "-c not given → 4096"),
        ("--enforce-eager", "", None, "--enforce-eager given → not given"),
        ("NCCL_ALGO", None, "Tree", "NCCL_ALGO unset → Tree"),
        ("A", "b", "", "A b → empty"),
        ("EMPTY", "x", "", "EMPTY x → empty"),
        ("--api-key", "rosebud", "sled", "--api-key changed"),
        ("--api_key", "rosebud", None, "--api_key given → not given"),
        ("VLLM_API_KEY", "rosebud", "sled", "VLLM_API_KEY changed"),
        ("HF_TOKEN", None, "rosebud", "HF_TOKEN unset → set"),
        ("PGPASSWORD", "rosebud", "sled", "PGPASSWORD changed"),
        ("DB", "postgres://u:rosebud@h", None, "DB postgres://[redacted]@h → unset"),
        ("--header", "a", "Authorization: Bearer rosebud", ""),
        ("--title", "a\x1b[2J", "b\nc", "--title a → b c"),
        ("--eos-token", "a", "b", "--eos-token a → b"),
    ],
)
def test_a_change_is_told_without_secrets(name, old, new, said):
    told = render_change(name, old, new)

    assert "rosebud" not in told
    assert "sled" not in told
    assert told == said or not said
