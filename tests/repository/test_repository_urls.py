"""Credentials are not given to git in URLs, which other users could read among its arguments."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import UsageError
from pacenote.repository.repository_urls import refuse_credentials
from pacenote.sources.checkout import find_repository, local_checkout
from pacenote.sources.recipes import recipe_for

_REFUSED = (
    "http://deploy:TOKEN@host/engine.git",
    "https://TOKEN@host/engine.git",
    "HTTPS://TOKEN@host/engine.git",
    "ssh://git:TOKEN@host/engine.git",
    "ftp://deploy:TOKEN@host/engine.git",
    "git+https://TOKEN@host/engine.git",
    "ftps://TOKEN@host/engine.git",
    "https://host/engine.git?token=abc",
    "http://deploy:TOKEN@[host/engine.git",
)


@pytest.mark.parametrize("url", _REFUSED)
def test_sources_of_engines_and_plugins_have_no_credentials_in_their_urls(tmp_path: Path, url: str) -> None:
    recipe = recipe_for("opensearch", {}, release=False)
    for location, used in ((url, recipe), ("", replace(recipe, url=url))):
        with pytest.raises(UsageError, match="the URL of the sources") as caught:
            find_repository(location, used, tmp_path)
        assert "TOKEN" not in f"{caught.value} {caught.value.hint}"
    with pytest.raises(UsageError, match="the URL of the sources"):
        local_checkout(url)


@pytest.mark.parametrize("url", ["ssh://git@host/x.git", "git@host:x.git", "https://host/x.git", "/a@b:c"])
def test_other_urls_are_accepted(url: str) -> None:
    refuse_credentials(url, "the sources")
