"""Which store a URL means, by the environment; nothing is asked for over a network."""

import pytest

from corpusmill.errors import InputError
from corpusmill.storage import extras_of
from corpusmill.storage.stores import connect, endpoint_of

pytest.importorskip("obstore")


@pytest.fixture(autouse=True)
def nobody(monkeypatch):
    """No variable of the machine says who we are."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AZURE_STORAGE_CONNECTION_STRING"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION", "eu-north-1")


@pytest.mark.parametrize(
    ("scheme", "environment", "endpoint"),
    [
        ("s3", {}, None),
        ("s3", {"AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_S3": "http://b"}, "http://b"),
        ("s3a", {"AWS_ENDPOINT": "http://c"}, "http://c"),
        ("s3", {"AWS_ENDPOINT_URL_S3": "", "AWS_ENDPOINT_URL": "http://a"}, "http://a"),
        ("gs", {"GOOGLE_BASE_URL": "http://g", "AWS_ENDPOINT_URL": "http://a"}, "http://g"),
        ("az", {"AZURE_ENDPOINT": "http://z"}, "http://z"),
    ],
)
def test_an_endpoint_is_that_of_its_provider(scheme, environment, endpoint):
    assert endpoint_of(scheme, environment) == endpoint


@pytest.mark.parametrize(
    ("url", "key"),
    [("s3://bucket/a/b c", "a/b c"), ("s3://bucket", ""), ("S3://bucket//a//", "a"), ("s3://bucket/ü?x=1", "ü?x=1")],
)
def test_a_key_is_what_follows_the_bucket(url, key):
    assert connect(url)[1] == key


def test_a_store_is_opened_once_for_a_bucket_and_an_environment(monkeypatch):
    first = connect("s3://once/a")[0]
    assert connect("s3://once/b/c")[0] is first and connect("s3://other/a")[0] is not first
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert connect("s3://once/a")[0] is not first


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("s3://", "s3://: there is no bucket in it, as in s3://BUCKET/folder"),
        ("s3:///a", "there is no bucket in it"),
        ("s3://k:s@bucket/a", "keys and signatures in a URL are not used for s3://.* Set AWS_PROFILE, or AWS_ACCESS"),
        ("gs://me@bucket/a", "gcloud auth application-default login, and leave them out"),
        ("s3://bucket/a?X-Amz-Signature=1", "keys and signatures in a URL are not used"),
    ],
)
def test_a_url_that_cannot_be_used_says_what_to_do(url, message):
    with pytest.raises(InputError, match=message):
        connect(url)


def test_what_a_place_needs_beside_the_installation(monkeypatch):
    assert [extra.name for extra in extras_of("gs://b/a")] == ["gs"]
    assert [extra.name for extra in extras_of("az://b/a")] == ["az"]
    assert [extra.name for extra in extras_of("https://a.org")] == ["http"]
    assert extras_of("a/b") == extras_of("memory://a") == ()
    assert [extra.modules for extra in extras_of("s3://b/a")] == [("obstore",)]  # keys are there: no boto3
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert [len(extra.modules) for extra in extras_of("s3://b/a")] == [2]
