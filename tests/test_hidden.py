"""No password or token lands in the record of a run."""

import pytest

from corpusmill.hidden import Hidden

ENVIRONMENT = {
    "HF_TOKEN": "hf_abcdefgh",
    "SALT": "a salt of mine",
    "TOKENIZER": "somewhere/else",
    "MY_PASSWORD": "short",
}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:pass@host/a.gz", "https://***@host/a.gz"),
        ("git@github.com:org/name.git", "git@github.com:org/name.git"),
        ("https://host/a?sig=AbC%2f&part=1", "https://host/a?sig=***&part=1"),
        ("s3://b/k?X-Amz-Signature=12ab&x=1", "s3://b/k?X-Amz-Signature=***&x=1"),
        ("hf://datasets/org/name@main/a.parquet", "hf://datasets/org/name@main/a.parquet"),
        ("read hf_abcdefgh here", "read ${HF_TOKEN} here"),
        ("a salt of mine", "${SALT}"),
        ("somewhere/else", "somewhere/else"),
        ("short", "short"),
        ("mail@example.org", "mail@example.org"),
    ],
)
def test_secrets_of_a_text_are_hidden(text, shown):
    assert Hidden(["redact/pii: {key: env:SALT}"], ENVIRONMENT)(text) == shown


def test_secrets_of_a_command_line_are_hidden():
    command = [
        "train.py",
        "--api-key",
        "sk-123",
        "--password=p",
        "--tokens",
        "5B",
        "--hf-token",
        "--set",
        "a=hf_abcdefgh",
    ]
    shown = ["train.py", "--api-key", "***", "--password=***", "--tokens", "5B", "--hf-token", "--set", "a=${HF_TOKEN}"]
    assert Hidden([], ENVIRONMENT).words(command) == shown
