"""Whatever is sent as a form is answered as one, or refused: it is never a defect of the server."""

import encodings.aliases
import random
import re

import pytest

from pacenote.store.annotations import AnnotationStore
from support.records import record

FORM = "application/x-www-form-urlencoded"
PATHS = ("", "race/race-1", "race/race-1/notes", "race/race-1/notes/x/delete")
PART = b'--x\r\nContent-Disposition: form-data; name="token"\r\n\r\nvalue\r\n--x--\r\n'
CHARSETS = (
    *sorted(set(encodings.aliases.aliases.values())),
    "nope",
    "undefined",
    "unicode_escape",
    "",
    "\xff",
)


def send(site, path, content_type, body):
    """Sends bytes as a form, with all that a page of the server sends."""
    connection = site.connect()
    headers = {"Cookie": site.cookie, "Origin": f"http://{site.host}", "Content-Type": content_type}
    connection.request("POST", f"{site.root}{path}", body, headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/form-data; boundary=x", PART.replace(b"form-data", b"\xff")),
        ("multipart/form-data; boundary=x", PART.replace(b"\r\n\r\n", b"\r\nContent-Type: \xff\r\n\r\n")),
        ("multipart/form-data; boundary=x", PART),
        ("multipart/form-data", PART),
        (f"{FORM}; charset=rot13", b"token=a"),
        (f"{FORM}; charset=nope", b"token=a"),
        (f"{FORM}; charset=punycode", b"token=a-" + b"9" * 60_000),
        (f"{FORM}; charset=utf-7", b"token=%2B2AA-"),
        (FORM, b"token=\xff"),
        ("text/plain", b"token=a"),
        ("", b"token=a"),
    ],
)
def test_forms_that_cannot_be_read_are_bad_requests(site, content_type, body):
    site.store.create(record())
    assert send(site, "race/race-1/notes", content_type, body) == 400
    assert site.warnings == []


def mutated(source, seeds):
    """Returns bytes with a few of them changed, removed or repeated."""
    data = bytearray(source.choice(seeds))
    for _ in range(source.randrange(4)):
        place = source.randrange(len(data))
        kind = source.randrange(3)
        if kind == 0:
            data[place] = source.choice(b'\x00\xff%&=;\r\n"-x9')
        elif kind == 1:
            del data[place : place + source.randrange(1, 9)]
        else:
            data[place:place] = data[place : place + 40] * source.randrange(1, 4)
        if not data:
            return b""
    return bytes(data)


@pytest.mark.process
def test_no_form_is_a_defect(site):
    site.store.create(record())
    (proof,) = re.findall(r'name=token value="?([\w-]{43})', site.page("race/race-1/notes"))
    source = random.Random(29)
    url = f"token={proof}&message=a+%F0%9F%98%80+%ED%A0%80%00&track=1".encode()
    part = PART.replace(b"value", proof.encode())
    nested = part.replace(b"\r\n\r\n", b"\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n--y\r\n", 1)
    encoded = part.replace(b"\r\n\r\n", b"\r\nContent-Transfer-Encoding: base64\r\n\r\n", 1)
    file = part.replace(b'"token"', b'"message"; filename="x"')
    seeds = (url, part, nested, encoded, file)
    types = (FORM, "multipart/form-data", "multipart/mixed", "text/plain", "", "/", ";", "application/json")
    statuses = set()
    for number in range(300):
        charset = CHARSETS[number % len(CHARSETS)]
        boundary = source.choice(("; boundary=x", '; boundary="x', "; boundary=", "; boundary=y", ""))
        encoding = source.choice((f"; charset={charset}", f"; charset*=utf-8''{charset}", ""))
        content_type = f"{source.choice(types)}{boundary}{encoding}"
        if number % 10:
            status = send(site, source.choice(PATHS), content_type, mutated(source, seeds))
        else:
            status = send(site, PATHS[2], FORM, mutated(source, (url,)))
        statuses.add(status)
        assert status in {303, 400, 403, 404, 405, 422}, (content_type, status)
    assert {303, 400, 403} <= statuses
    assert site.warnings == []
    # What was stored can be shown.
    assert all(note.message.encode() for note in AnnotationStore(site.store.home).list(pytest.fail))
    site.page("race/race-1/notes")
