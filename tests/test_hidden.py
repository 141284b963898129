"""No password or token lands in the record of a run."""

import pytest

from corpusmill.hidden import Hidden, is_masked, masked, without_secrets

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


NAMES = """
X-Amz-Signature x-amz-credential X-Amz-Security-Token X-Amz-Date X-Amz-Expires X-Amz-Algorithm AWSAccessKeyId Signature
X-Goog-Signature X-Goog-Credential X-Goog-Date GoogleAccessId x-oss-signature OSSAccessKeyId q-sign-algorithm q-ak sig
Key-Pair-Id token TOKEN access_token id-token refreshToken authToken x-auth-token apikey api_key api-key API-Key x-api-key
key subscription-key secret_key rlkey auth authorization oauth_nonce password passwd pwd pass pw passphrase secret
client_secret client-secret code sas sasToken session session_id sessionToken PHPSESSID jwt bearer credential credentials
creds hmac sign ticket otp hdnts hdnea user%2Dtoken
""".split()
PLAIN = "file page part format v sv st lang max_tokens tokenizer author authors expires se key_word object_key sort country_code".split()


@pytest.mark.parametrize("name", NAMES)
def test_a_secret_of_a_query_is_left_out_of_the_name_and_masked_in_texts(name):
    assert without_secrets(f"https://host/a?part=1&{name}=S3cret/+%3D&page=2") == "https://host/a?part=1&page=2"
    assert without_secrets(f"https://host/a?{name}=S3cret") == "https://host/a"
    assert without_secrets(f"https://host/a?{name}=S3cret&page=2") == "https://host/a?page=2"
    for before, after in (("", ""), ("no file ", ": 404"), ("url=URL('", "')"), ("(", "), and more")):
        assert masked(f"{before}https://host/a?{name}=S3cret{after}") == f"{before}https://host/a?{name}=***{after}"


@pytest.mark.parametrize("name", PLAIN)
def test_another_parameter_stays(name):
    assert (
        without_secrets(f"https://host/a?{name}=x") == masked(f"https://host/a?{name}=x") == f"https://host/a?{name}=x"
    )


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (
            "https://host/c/a?sv=2024&st=1&se=2&sr=b&sp=r&spr=https&skoid=3&sig=AbC%3D&snapshot=4",
            "https://host/c/a?snapshot=4",
        ),
        ("https://host/a?Expires=1&Signature=x~-&Key-Pair-Id=K&Policy=eyJ_&v=2", "https://host/a?v=2"),
        ("https://host/a?md5=abc&expires=17&v=2", "https://host/a?v=2"),
        ("https://host/a?md5=abc&v=2", "https://host/a?md5=abc&v=2"),
        ("https://host/a?token=t&exp=17&st=CA", "https://host/a?st=CA"),
        ("https://host/a;jsessionid=1?v=2#access_token=x", "https://host/a?v=2"),
        ("https://me@host:81/a@b", "https://host:81/a@b"),
        ("https://p/get?url=https%3A%2F%2Fme%3Apw%40host%2Fa%3Ftoken%3Dx", "https://p/get?url=https%3A%2F%2Fhost%2Fa"),
        ("https://p/get?url=https://me:pw@host/a", "https://p/get?url=https://host/a"),
        ("https://host/a%20b?file=a%2Fb.jsonl", "https://host/a%20b?file=a%2Fb.jsonl"),
        ("hf://datasets/org/name@main/a.parquet", "hf://datasets/org/name@main/a.parquet"),
        ("abfss://box@account.dfs.core.windows.net/a", "abfss://box@account.dfs.core.windows.net/a"),
    ],
)
def test_what_comes_with_a_secret_goes_with_it(url, name):
    assert without_secrets(url) == name == without_secrets(name)
    assert "%3A" in url or without_secrets(masked(url)) == name


def test_a_text_with_its_secrets_masked_is_told_from_one_with_variables():
    assert is_masked(masked("https://me:pw@host/a")) and is_masked(masked("https://host/a?v=1&token=abc"))
    variable = "{paths: https://host/a?token=${MY_TOKEN}}"
    assert masked(variable) == variable and not is_masked(variable)
