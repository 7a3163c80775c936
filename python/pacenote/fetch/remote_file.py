"""The sources of a file: URLs, buckets and their mirrors."""

from __future__ import annotations

import dataclasses
import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from pacenote.errors import UsageError
from pacenote.net.url import parse_url

_SIGNED_URL_S = 12 * 3600
"""Seconds for which a signed URL is valid: longer than any download."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file on a server."""

    display_url: str
    """The location without credentials and query, for messages."""
    url: str = field(repr=False)
    """The URL to request; it may contain a secret."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Headers of the request; they may contain credentials."""
    bucket: str = ""
    """The bucket of an S3 object; empty for other files."""
    key: str = ""
    """The key of an S3 object; empty for other files."""


class MissingCredentials(Exception):
    """An S3 object is not public, and no credentials were found."""


def remote_files(
    base_url: str | None,
    name: str,
    corpus: str,
    mirrors: Sequence[str] = (),
    environment: Mapping[str, str] = os.environ,
) -> tuple[RemoteFile, ...]:
    """Returns the sources of the file `name` of a corpus in the order in which they are tried, mirrors first.

    A mirror is `URL`, which replaces the scheme and host of every base URL, or `PREFIX=URL`, which replaces a
    prefix of base URLs. Raises UsageError for a location that is not a valid URL.
    """
    mirrored = [mirror for text in mirrors if (mirror := _mirrored(text, base_url, corpus))]
    # The query string may be a secret of the track's server, so it is not sent to mirrors.
    public_name = name.partition("?")[0]
    locations = [f"{base.rstrip('/')}/{public_name}" for base in mirrored]
    if base_url:
        locations.append(f"{base_url.rstrip('/')}/{name}")
    return tuple(resolve(location, environment) for location in locations)


def _mirrored(mirror: str, base_url: str | None, corpus: str) -> str | None:
    """Returns the base URL at a mirror, or None when the mirror does not serve it."""
    prefix, equals, url = mirror.partition("=")
    # A URL without a prefix may also contain an equals sign.
    if equals and "://" in url:
        prefix = prefix.rstrip("/")
        if base_url is None or not f"{base_url.rstrip('/')}/".startswith(f"{prefix}/"):
            return None
        return url.rstrip("/") + base_url[len(prefix) :]
    path = urlsplit(base_url).path if base_url else f"/{corpus}"
    return mirror.rstrip("/") + path


def resolve(location: str, environment: Mapping[str, str] = os.environ) -> RemoteFile:
    """Returns the file at a location: an http(s) URL, `s3://bucket/key` or `gs://bucket/key`.

    Buckets are read over HTTPS without credentials, except that Google's are read with the token in
    GOOGLE_AUTH_TOKEN if it is set. AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL and STORAGE_EMULATOR_HOST select
    other services with the same API. Raises UsageError for any other location.
    """
    scheme, _, rest = location.partition("://")
    if scheme in ("s3", "gs"):
        bucket, _, key = rest.partition("/")
        if not bucket or not key:
            raise UsageError(
                f"{location} does not name an object of a bucket", hint=f"write it as {scheme}://bucket/key"
            )
        file = RemoteFile(location, "", bucket=bucket, key=key)
        return _at_s3(file, environment) if scheme == "s3" else _at_google(file, environment)
    plain, _, query = location.partition("?")
    parsed = parse_url(plain, f"the address of {plain.rpartition('/')[2]}")
    headers = (("authorization", parsed.authorization),) if parsed.authorization else ()
    url = parsed.parts._replace(path=quote(parsed.parts.path, safe="/%"), query=query).geturl()
    return RemoteFile(display_url=parsed.parts.geturl(), url=url, headers=headers)


def _at_s3(file: RemoteFile, environment: Mapping[str, str]) -> RemoteFile:
    path = quote(file.key, safe="/")
    endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    # The wildcard certificate covers only one level of names, so it does not cover a bucket name with a dot.
    if endpoint or "." in file.bucket:
        url = f"{(endpoint or 'https://s3.amazonaws.com').rstrip('/')}/{file.bucket}/{path}"
    else:
        url = f"https://{file.bucket}.s3.amazonaws.com/{path}"
    return dataclasses.replace(file, url=url)


def _at_google(file: RemoteFile, environment: Mapping[str, str]) -> RemoteFile:
    endpoint = environment.get("STORAGE_EMULATOR_HOST") or "https://storage.googleapis.com"
    token = environment.get("GOOGLE_AUTH_TOKEN")
    headers = (("authorization", f"Bearer {token}"),) if token else ()
    url = f"{endpoint.rstrip('/')}/{file.bucket}/{quote(file.key, safe='/')}"
    return RemoteFile(file.display_url, url, headers)


def presign(file: RemoteFile) -> RemoteFile:
    """Returns an S3 object with a URL that is signed with the credentials of the AWS configuration.

    Raises MissingCredentials if boto3, which reads that configuration, is not installed or finds no
    credentials.
    """
    try:
        boto3 = importlib.import_module("boto3")
        boto_error: type[Exception] = importlib.import_module("botocore.exceptions").BotoCoreError
    except ImportError:
        raise MissingCredentials("needs credentials, and boto3, which finds them, is not installed") from None
    try:
        client = boto3.client("s3")
        params = {"Bucket": file.bucket, "Key": file.key}
        url = client.generate_presigned_url("get_object", Params=params, ExpiresIn=_SIGNED_URL_S)
    except (boto_error, ValueError) as failure:
        raise MissingCredentials(f"needs credentials: {failure}") from None
    return RemoteFile(file.display_url, str(url))
