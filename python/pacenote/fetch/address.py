"""Where a data file can be downloaded from: mirrors first, then what the track says."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from pacenote.errors import UsageError
from pacenote.net.http_pool import split_url

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Address:
    """One address of a file: `url` is what is asked, `shown` what is said about it, without credentials.

    `bucket` and `key` are those of S3, where an object that is not public needs a signed URL.
    """

    shown: str
    url: str = field(repr=False)
    headers: Headers = field(default=(), repr=False)
    bucket: str = ""
    key: str = ""


class NoCredentials(Exception):
    """A bucket is not public, and there is nothing to be let in with."""


def addresses(
    base_url: str | None,
    name: str,
    corpus: str,
    mirrors: Sequence[str] = (),
    environment: Mapping[str, str] = os.environ,
) -> tuple[Address, ...]:
    """The addresses of file `name` in the order to try them.

    A mirror is `URL`, which stands for scheme and host of every base URL, or `PREFIX=URL`, which stands for
    what base URLs begin with. Raises UsageError for an address that is none.
    """
    found = [mirror for text in mirrors if (mirror := _mirrored(text, base_url, corpus))]
    bases = [*found, *([base_url] if base_url else [])]
    # What follows the question mark may be a secret between the track and its own server.
    names = [*(name.partition("?")[0] for _ in found), name]
    return tuple(
        resolve(f"{base.rstrip('/')}/{each}", environment) for base, each in zip(bases, names, strict=False)
    )


def _mirrored(mirror: str, base_url: str | None, corpus: str) -> str | None:
    prefix, equals, url = mirror.partition("=")
    # An equals sign may be part of a mere URL, too.
    if equals and "://" in url:
        begins = base_url is not None and f"{base_url.rstrip('/')}/".startswith(f"{prefix.rstrip('/')}/")
        return url.rstrip("/") + (base_url or "")[len(prefix.rstrip("/")) :] if begins else None
    path = urlsplit(base_url).path if base_url else f"/{corpus}"
    return mirror.rstrip("/") + path


def resolve(location: str, environment: Mapping[str, str] = os.environ) -> Address:
    """The address of a location: http, https, `s3://bucket/key` or `gs://bucket/key`.

    Buckets are asked without credentials, over HTTPS; Google's with the token in GOOGLE_AUTH_TOKEN if it is
    set. AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL and STORAGE_EMULATOR_HOST name other services that speak the
    same. Raises UsageError for what is no such location.
    """
    scheme, _, rest = location.partition("://")
    if scheme in ("s3", "gs"):
        bucket, _, key = rest.partition("/")
        if not bucket or not key:
            raise UsageError(
                f"{location} names no object of a bucket", hint=f"write it as {scheme}://bucket/key"
            )
        return (
            _s3(location, bucket, key, environment)
            if scheme == "s3"
            else _gs(location, bucket, key, environment)
        )
    plain, _, query = location.partition("?")
    parts, access = split_url(plain, f"the address of {plain.rpartition('/')[2]}")
    url = parts._replace(path=quote(parts.path, safe="/%"), query=query).geturl()
    return Address(shown=parts.geturl(), url=url, headers=access.headers)


def _s3(shown: str, bucket: str, key: str, environment: Mapping[str, str]) -> Address:
    path = quote(key, safe="/")
    endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    # A certificate for one level of names does not cover a bucket with a dot in its name.
    if endpoint or "." in bucket:
        url = f"{(endpoint or 'https://s3.amazonaws.com').rstrip('/')}/{bucket}/{path}"
    else:
        url = f"https://{bucket}.s3.amazonaws.com/{path}"
    return Address(shown, url, bucket=bucket, key=key)


def _gs(shown: str, bucket: str, key: str, environment: Mapping[str, str]) -> Address:
    endpoint = environment.get("STORAGE_EMULATOR_HOST") or "https://storage.googleapis.com"
    token = environment.get("GOOGLE_AUTH_TOKEN")
    headers = (("authorization", f"Bearer {token}"),) if token else ()
    return Address(shown, f"{endpoint.rstrip('/')}/{bucket}/{quote(key, safe='/')}", headers)


def signed(address: Address) -> Address:
    """The same address with the credentials of the AWS configuration.

    Raises NoCredentials when boto3, which knows them, is not installed, or finds none.
    """
    try:
        boto3 = importlib.import_module("boto3")
        refused: type[Exception] = importlib.import_module("botocore.exceptions").BotoCoreError
    except ImportError:
        raise NoCredentials("needs credentials, and boto3, which finds them, is not installed") from None
    try:
        client = boto3.client("s3")
        place = {"Bucket": address.bucket, "Key": address.key}
        url = client.generate_presigned_url("get_object", Params=place, ExpiresIn=12 * 3600)
    except (refused, ValueError) as failure:
        raise NoCredentials(f"needs credentials: {failure}") from None
    return Address(address.shown, str(url))
