"""The server answers only a browser that has opened its address, and tells it what it may do with a page."""

import asyncio
import errno
import os
import re
import socket
import subprocess
import sys
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

import pytest

from pacenote.errors import PacenoteError
from pacenote.model.messages import DEFECT
from pacenote.serve.access import new_address
from pacenote.serve.server import LoopProblems, ServeOptions, serve
from pacenote.store.race_store import RaceStore
from support.records import record

PATHS = ("", "race/race-1", "race/race-1/report.html", "race/race-1/events", "race/race-1/files", "none")


def test_the_address_opens_the_list_once_and_disappears_from_it(site):
    site.store.create(record())
    assert re.fullmatch(r"http://127(?:\.\d+){3}:\d+/[\w-]{8}/\?token=[\w-]{43}", site.address)
    split = urlsplit(site.address)
    # A link on a page of another site may be used: whoever has it may read.
    response, text = site.send("GET", f"{split.path}?{split.query}", {"Sec-Fetch-Site": "cross-site"})
    assert response.status == 200
    assert f'<meta http-equiv=refresh content="0; url={site.root}">' in text
    assert split.query not in text
    assert "HttpOnly; SameSite=Strict" in response.headers["Set-Cookie"]
    assert "Races" in site.page()


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_shown_without_the_cookie(site, path):
    site.store.create(record())
    for headers in ({}, {"Cookie": "pacenote=wrong"}, {"Cookie": site.cookie, "Sec-Fetch-Site": "same-site"}):
        response, text = site.send("GET", f"{site.root}{path}", headers)
        assert response.status == 403
        assert "http_logs" not in text


def test_nobody_without_the_cookie_learns_the_path_of_the_pages(site):
    for method, path, headers in (
        ("GET", "/", {}),
        ("GET", "/?token=x", {}),
        ("POST", "/", {}),
        ("GET", "/", {"Host": "evil.example"}),
    ):
        response, text = site.send(method, path, headers)
        assert response.status == 403
        assert site.root.strip("/") not in f"{response.headers}{text}"


def test_a_wrong_token_is_refused(site):
    for token in ("", "x" * 43, "%F0%9F%98%80", "%ff"):
        response, text = site.send("GET", f"{site.root}?token={token}", {})
        assert response.status == 403
        assert response.getheader("Set-Cookie") is None
        assert "not the address of the running server" in text


def test_a_page_whose_name_was_made_to_resolve_to_this_machine_cannot_read(site):
    response, _ = site.get("", Host="evil.example:80")
    assert response.status == 403
    split = urlsplit(site.address)
    response, _ = site.send("GET", f"{split.path}?{split.query}", {"Host": "evil.example"})
    assert response.status == 403
    assert response.getheader("Set-Cookie") is None
    # A port that ssh forwards has another number.
    assert site.get("", Host="localhost:8080")[0].status == 200


@pytest.mark.parametrize("path", PATHS[:1] + PATHS[2:3] + PATHS[4:])
def test_every_response_restricts_the_browser(site, path):
    site.store.create(record())
    response, _ = site.get(path)
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Referrer-Policy"] == "same-origin"
    assert response.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assert response.getheader("Server") is None
    assert response.getheader("Access-Control-Allow-Origin") is None


def test_reports_get_no_rights_of_the_server(site):
    folder = site.store.create(record())
    folder.write_page("<script>stolen</script>")
    response, text = site.get("race/race-1/report.html")
    assert text == "<script>stolen</script>"
    policy = response.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'; ")
    assert "allow-same-origin" not in policy
    assert 'sandbox="allow-scripts"' in site.page("race/race-1")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST", "OPTIONS"])
def test_other_methods_do_nothing(site, method):
    site.store.create(record())
    for path in ("", "race/race-1", "race/race-1/report.html"):
        response, _ = site.send(method, f"{site.root}{path}", {"Cookie": site.cookie})
        assert response.status == 403  # Only forms can change something.
    assert site.store.load("race-1").race_id == "race-1"


def test_a_defect_is_shown_and_reported_without_the_token(site):
    site.store.create(record("defect"))
    response, text = site.get("race/defect/report.html")
    assert response.status == 500
    assert "a defect of Pacenote: LookupError: oh" in text
    assert site.warnings == ["a defect of Pacenote: LookupError: oh"]


def test_malformed_requests_are_not_logged(site, capfd, caplog):
    with socket.create_connection((site.connect().host, urlsplit(site.address).port)) as client:
        client.sendall(f"GET {site.address}\x00 HTTP/9\r\n\r\n".encode())
        reply = client.recv(1000)
    assert b"400" in reply
    # The versions of libraries are not disclosed, which the server does not show elsewhere either.
    assert b"aiohttp" not in reply
    assert b"Python" not in reply
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_a_port_that_is_in_use_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        options = ServeOptions("127.0.0.1", port, lambda _: None, lambda _: None)
        with pytest.raises(PacenoteError, match=f"port {port} of 127.0.0.1 is in use") as caught:
            asyncio.run(serve(RaceStore(tmp_path), None, options))
    assert "--port" in caught.value.hint


def test_each_start_has_an_address_of_its_own(site, tmp_path):
    """For a fixed one, another user's page may have left a worker in the browser, which sees the token."""
    host = urlsplit(site.address).hostname
    assert host is not None
    assert ip_address(host) in ip_network("127.0.0.0/8")
    assert host != "127.0.0.1"
    assert len({new_address() for _ in range(100)}) == 100
    # The port of another machine may be forwarded.
    port = urlsplit(site.address).port
    assert [site.get("", Host=f"{name}:{port}")[0].status for name in (host, "127.0.0.1", "127.0.0.2")] == [
        *(200, 200, 403)
    ]


def test_a_system_with_one_address_is_warned_of(tmp_path, monkeypatch):
    bind = socket.socket.bind

    def refusing(self, address):
        if address[0] != "127.0.0.1":
            raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
        bind(self, address)

    class Ended(Exception):
        pass

    def end(address):
        raise Ended(address)

    class Maker:
        async def close(self):
            pass

    monkeypatch.setattr(socket.socket, "bind", refusing)
    warnings = []
    with pytest.raises(Ended, match=r"http://127\.0\.0\.1:"):
        asyncio.run(serve(RaceStore(tmp_path), Maker(), ServeOptions("", 0, end, warnings.append)))
    (warning,) = warnings
    assert warning.startswith("this system has no other address than 127.0.0.1 for itself: ")


def test_connections_without_number_are_one_line():
    """Another user may open them; asyncio prints a stack trace for each one that it cannot accept."""
    lines = []
    problems = LoopProblems(lines.append)
    for number in (errno.EMFILE, errno.EMFILE, errno.ENFILE):
        context = {"message": "socket.accept() out of system resource", "exception": OSError(number, "")}
        problems(None, context)
    assert lines == ["too many connections are open: pages are shown again when some are closed"]
    problems(None, {"message": "odd", "exception": ValueError("v")})
    problems(None, {"message": "without an error"})
    assert lines[1:] == [f"{DEFECT}: ValueError: v", "without an error"]


def test_a_line_that_cannot_be_shown_is_shown_later():
    """What it needs may not be imported yet, and no further file can be opened."""
    lines, failures = [], [OSError(errno.EMFILE, ""), None]

    def warn(text):
        if failure := failures.pop(0):
            raise failure
        lines.append(text)

    problems = LoopProblems(warn)
    for _ in range(2):
        problems(None, {"exception": OSError(errno.EMFILE, "")})
    assert len(lines) == 1


def test_the_server_may_open_as_many_files_as_the_system_permits():
    program = (
        "import resource; from pacenote.serve import server\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))\n"
        "server._allow_more_connections()\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], hard)"
    )
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, check=True)
    soft, hard = map(int, done.stdout.split())
    assert soft == min(hard, 65_536)
