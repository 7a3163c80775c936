"""Only requests for this machine, with the secrets of this start, are allowed."""

import pytest

from pacenote.serve.access import Access, AccessDenied


@pytest.mark.parametrize(
    "host", ["127.0.0.1:7223", "localhost", "localhost:80", "LOCALHOST:80", "[::1]:7223"]
)
def test_names_of_this_machine_are_allowed(host):
    Access().check_host({"Host": host})


@pytest.mark.parametrize(
    "host",
    [
        *("", "evil.example", "evil.example:7223", "127.0.0.1.evil.example", "localhost.evil.example"),
        *("[::1].evil.example", "localhost:evil.example", "127.0.0.1:80:80", "127.0.0.1:", "[::1]:8x"),
        *("localhost:80\n", "127.0.0.1\u0660", "localhost:\u0661"),
        *("evil.example@127.0.0.1", "127.0.0.1/evil", "127.0.0.1?a", "127.0.0.2", "[::1", "0.0.0.0:7223"),
    ],
)
def test_other_names_that_resolve_to_it_are_not(host):
    with pytest.raises(AccessDenied, match=r"as 127\.0\.0\.1, localhost or"):
        Access().check_host({"Host": host})


def test_each_start_has_secrets_of_its_own_which_its_text_does_not_contain():
    secrets = [
        secret for access in (Access(), Access()) for secret in (access.token, access.session, access.proof)
    ]
    assert len(set(secrets)) == 6
    assert min(map(len, secrets)) == 43
    access = Access()
    assert not any(secret in repr(access) for secret in (access.token, access.session, access.proof))


def test_the_cookie_is_for_this_start_only_and_not_for_scripts():
    access = Access()
    assert access.cookie() == f"pacenote={access.session}; Path={access.root}; HttpOnly; SameSite=Strict"
    access.check_reading({"Cookie": f"a=b; pacenote=old; pacenote={access.session}"})


@pytest.mark.parametrize(
    "cookie", ["", "pacenote=", "pacenote", "other={0}", "pacenote={0}x", "pacenote=é\ud800"]
)
def test_other_cookies_are_not_accepted(cookie):
    access = Access()
    with pytest.raises(AccessDenied, match="has not opened the address"):
        access.check_reading({"Cookie": cookie.format(access.session)})


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_others_cannot_read(site):
    access = Access()
    with pytest.raises(AccessDenied, match="pages of other sites"):
        access.check_reading({"Cookie": f"pacenote={access.session}", "Sec-Fetch-Site": site})


def test_only_forms_of_the_server_can_write():
    access = Access()
    host, origin = {"Host": "127.0.0.1:1"}, {"Origin": "http://127.0.0.1:1"}
    access.check_writing(host | origin, access.proof)
    wrong = [
        (host, access.proof),
        (host | {"Origin": "null"}, access.proof),
        (host | {"Origin": "http://127.0.0.1:2"}, access.proof),
        (host | {"Origin": "https://127.0.0.1:1"}, access.proof),
        (host | origin, ""),
        (host | origin, access.token),
    ]
    for headers, given in wrong:
        with pytest.raises(AccessDenied, match="only forms"):
            access.check_writing(headers, given)
