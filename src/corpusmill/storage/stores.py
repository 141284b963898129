"""Which object store a URL means, and who we are there: by environment and files, as its users have them.

    s3://BUCKET      AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN); else what boto3 finds:
                     AWS_PROFILE, ~/.aws, single sign-on, roles of the machine, the pod, the task.
                     AWS_REGION; AWS_ENDPOINT_URL for stores that are not Amazon's.
    gs://BUCKET      GOOGLE_APPLICATION_CREDENTIALS, `gcloud auth application-default login`, the machine's account
    az://CONTAINER   AZURE_STORAGE_CONNECTION_STRING; or AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY,
                     AZURE_STORAGE_SAS_TOKEN, AZURE_CLIENT_ID and its secret, AZURE_USE_AZURE_CLI, or the machine's
                     identity; also abfss://CONTAINER@ACCOUNT.dfs.core.windows.net

CORPUSMILL_PUBLIC_BUCKETS names buckets, with commas, that are read without any credentials; AWS_SKIP_SIGNATURE,
GOOGLE_SKIP_SIGNATURE and AZURE_SKIP_SIGNATURE say so of all. Everything else that obstore reads from the environment
works, too.
"""

import os
from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any

from corpusmill.assets import extras
from corpusmill.assets.extras import AZ, Extra
from corpusmill.assets.extras import GS as GOOGLE
from corpusmill.errors import InputError, StorageError
from corpusmill.hidden import is_signed
from corpusmill.storage.places import AZURE, GS, S3, scheme_of
from corpusmill.storage.trouble import AZURE_LOGIN, LOGIN, S3_LOGIN, first_line

EXTRAS: dict[str, Extra] = {**dict.fromkeys(S3, extras.S3), **dict.fromkeys(GS, GOOGLE), **dict.fromkeys(AZURE, AZ)}
CONFIGURING = ("AWS_", "AZURE_", "GOOGLE_", "CORPUSMILL_PUBLIC_BUCKETS", "HOME", "MSI_", "IDENTITY_")
# Of one request, before `patiently` asks anew: a part of a large upload is sent again by itself.
RETRIES = 3
FIRST, LONGEST = timedelta(seconds=0.2), timedelta(seconds=5)
forked = False


def extras_of(scheme: str) -> tuple[Extra, ...]:
    """boto3 is asked for keys where the environment has none."""
    if scheme in S3 and _has_keys(os.environ):
        return (Extra("s3", ("obstore",)),)
    return (EXTRAS[scheme],) if scheme in EXTRAS else ()


def after_fork() -> None:
    """What obstore's threads were doing in the parent, nobody does in the child: a question would wait forever."""
    global forked  # noqa: PLW0603 - there is one process
    forked = _connected.cache_info().currsize > 0


def connect(path: str) -> tuple[Any, str]:
    """The store that a URL is in, and the key in it, which has no slash at its ends."""
    if forked:
        raise StorageError(f"{path}: this process was forked from one that uses the store. Spawn it instead.")
    head, _, location = path.partition("://")
    bucket, _, key = location.partition("/")
    if not bucket:
        raise InputError(f"{path}: there is no bucket in it, as in {head}://BUCKET/folder")
    user, at, _ = bucket.rpartition("@")
    if is_signed(path) or (at and (":" in user or scheme_of(path) not in AZURE)):
        raise InputError(
            f"{path}: keys and signatures in a URL are not used for {head}://, and would be written down with it. "
            f"{LOGIN[scheme_of(path)]}, and leave them out"
        )
    settings = {name: value for name, value in os.environ.items() if name.startswith(CONFIGURING)}
    try:
        store = _connected(f"{scheme_of(path)}://{bucket}", frozenset(settings.items()))
    except ImportError as error:
        raise EXTRAS[scheme_of(path)].error(f"reading and writing {head}://") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error.__cause__
    return store, key.strip("/")


@lru_cache(maxsize=64)
def _connected(root: str, environment: frozenset[tuple[str, str]]) -> Any:
    """A store by its URL, and the variables that say how to reach it."""
    from obstore import store as kinds
    from obstore.exceptions import BaseError

    from_url: Any = kinds.from_url  # its types are one for each provider
    scheme, _, bucket = root.partition("://")
    env = dict(environment)
    config: dict[str, Any] = {}
    provider = None
    if bucket.partition("@")[0] in env.get("CORPUSMILL_PUBLIC_BUCKETS", "").replace(",", " ").split():
        config["skip_signature"] = True
    elif scheme in S3 and not _has_keys(env):
        provider, config = _boto3()
    elif scheme in AZURE:
        config = _connection_string(env.get("AZURE_STORAGE_CONNECTION_STRING", ""))
    endpoint = config.get("endpoint") or endpoint_of(scheme, env) or ""
    if scheme in S3 and endpoint:
        config["endpoint"] = endpoint
    options = {
        "allow_http": endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=10),
        "read_timeout": timedelta(seconds=60),
        "timeout": timedelta(minutes=5),
    }
    backoff = {"init_backoff": FIRST, "max_backoff": LONGEST, "base": 2}
    retry = {"max_retries": RETRIES, "backoff": backoff, "retry_timeout": timedelta(minutes=2)}
    try:
        return from_url(root, config=config, client_options=options, retry_config=retry, credential_provider=provider)
    except (BaseError, ValueError) as error:
        login = f" {AZURE_LOGIN}." if scheme in AZURE else ""
        raise InputError(f"{first_line(error)}.{login}") from error


def endpoint_of(scheme: str, env: Mapping[str, str]) -> str | None:
    """The address that the environment names instead of the provider's own."""
    names = ["AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"] if scheme in AZURE else ["GOOGLE_BASE_URL"]
    if scheme in S3:
        names = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]
    return next((env[name] for name in names if env.get(name)), None)


def _has_keys(env: Mapping[str, str]) -> bool:
    """Whether the environment alone says who we are, or that we are nobody. As in Amazon's own tools, it comes before
    profiles."""
    nobody = env.get("AWS_SKIP_SIGNATURE", "").lower() in ("1", "true", "yes")
    return nobody or bool(env.get("AWS_ACCESS_KEY_ID") and env.get("AWS_SECRET_ACCESS_KEY"))


def _boto3() -> tuple[Any, dict[str, Any]]:
    """Who gives credentials, and what the profile says of region and endpoint.

    obstore itself knows neither profiles nor single sign-on, and waits for minutes where there is nothing to be found.
    """
    import boto3
    from botocore.exceptions import BotoCoreError
    from obstore.auth.boto3 import Boto3CredentialProvider

    try:
        session = boto3.Session()
        if session.get_credentials() is None:
            raise InputError(
                f"no credentials were found. {S3_LOGIN}. For a public bucket: CORPUSMILL_PUBLIC_BUCKETS=BUCKET"
            )
        profile = session._session.get_scoped_config()
    except BotoCoreError as error:
        raise InputError(f"{first_line(error)}. {S3_LOGIN}") from error
    config = {"endpoint": profile.get("endpoint_url"), "region": session.region_name}
    return Boto3CredentialProvider(session), {name: value for name, value in config.items() if value}


def _connection_string(text: str) -> dict[str, Any]:
    """AccountName=…;AccountKey=…;BlobEndpoint=… as Azure's portal gives it."""
    parts = dict(part.split("=", 1) for part in text.split(";") if "=" in part)
    names = {
        "AccountName": "account_name", "AccountKey": "account_key",
        "SharedAccessSignature": "sas_key", "BlobEndpoint": "endpoint",
    }  # fmt: skip
    return {ours: parts[theirs] for theirs, ours in names.items() if parts.get(theirs)}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=after_fork)
