"""The user of an engine with security, in the files that the engine reads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pacenote.errors import UsageError
from pacenote.net.url import basic_auth_header
from pacenote.provision.security.engine_user import EngineUser, add_user, engine_user, hashed


def test_the_user_is_that_of_rally_unless_the_car_describes_another() -> None:
    user = engine_user({"heap_size": "1g"})
    assert user == EngineUser("rally", "rally-password", ("superuser",))
    assert user.authorization == basic_auth_header("rally", "rally-password")
    assert user.secrets == {"rally-password", "cmFsbHk6cmFsbHktcGFzc3dvcmQ="}
    assert "password=" not in repr(user)
    own = {"xpack_security_user_name": "me", "xpack_security_user_password": 123456}
    assert engine_user({**own, "xpack_security_user_role": "a,b"}) == EngineUser("me", "123456", ("a", "b"))


def test_the_hash_is_the_one_that_elasticsearch_reads() -> None:
    # Class Hasher of Elasticsearch 7.17.28, 8.19.21 and 9.5.3 accepts the password with this hash.
    assert hashed("rally-password", bytes(range(32))) == EXPECTED


EXPECTED = (
    "{PBKDF2}10000$AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=$0JC03pW26ExK3GSwp9duDPmlGPc++9neN06tUECySIY="
)


def test_a_user_is_added_to_those_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("# users\nother:hash")
    (tmp_path / "users_roles").write_text("superuser:other\n")
    add_user(tmp_path, EngineUser("me", "secret-word", ("superuser", "viewer")))
    comment, other, mine = (tmp_path / "users").read_text().splitlines()
    assert (comment, other) == ("# users", "other:hash")
    assert mine.startswith("me:{PBKDF2}10000$")
    assert "secret-word" not in mine
    roles = "superuser:other\nsuperuser:me\nviewer:me\n"
    assert (tmp_path / "users_roles").read_text() == roles


def test_users_of_an_archive_are_read_up_to_a_size(tmp_path: Path) -> None:
    (tmp_path / "users").write_bytes(b"\xff\n")
    add_user(tmp_path, EngineUser("one", "secret12", ("superuser",)))
    os.truncate(tmp_path / "users", 1 << 30)
    with pytest.raises(OSError, match=r"larger than 1\.0 MiB"):
        add_user(tmp_path, EngineUser("two", "secret12", ("superuser",)))


def test_a_user_that_a_hook_has_added_is_kept(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("rally:hash\n")
    add_user(tmp_path, EngineUser())
    assert (tmp_path / "users").read_text() == "rally:hash\n"
    assert not (tmp_path / "users_roles").exists()


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("name", "elastic", "cannot be elastic, which is a user of Elasticsearch itself"),
        ("name", "a:b", "cannot be the name of a user"),
        ("password", "short", "at least 6 printable characters"),
        ("password", "with\nbreak", "at least 6 printable characters"),
        ("role", "a b", "is not the name of a role"),
    ],
)
def test_users_that_the_engine_refuses_are_reported_without_their_password(
    name: str, value: str, problem: str
) -> None:
    with pytest.raises(UsageError, match=rf"^xpack_security_user_{name} .*{problem}") as caught:
        engine_user({f"xpack_security_user_{name}": value})
    assert name != "password" or value not in str(caught.value)
