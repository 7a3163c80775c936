"""Secrets in parameters are found, and redacted in every form."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from pacenote.model.secrets import (
    body_secrets,
    is_secret,
    redact,
    redact_before_at,
    redact_body,
    redact_params,
    redact_query,
    redact_unparsed,
    redact_urls,
    secret_values,
    url_secrets,
)

NAMES = (
    *("client_secret", "aws_secret", "secret", "passwd", "pwd", "passphrase", "private_key", "credentials"),
    *("account_key", "sas", "auth", "connection_string", "token", "password", "access_key", "bearer"),
)

LAST_WORDS = ("pass", "pw", "cookie", "jwt", "pat", "sig", "signature")


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        ("secret_thing", True),
        ("s3.client.default.secret_key", True),
        ("s3.client.default.access_key", True),
        ("es_password", True),
        ("passwords", True),
        ("api-key", True),
        ("auth_token", True),
        ("accessToken", True),
        *((name, True) for name in NAMES),
        *((name.upper(), True) for name in NAMES),
        *((name.replace("_", "-"), True) for name in NAMES),
        *((re.sub("_(.)", lambda found: found[1].upper(), name), True) for name in NAMES),
        *((f"my_{name}_2", True) for name in NAMES),
        *((f"azure.client.default.{name}", True) for name in NAMES),
        ("basicAuthPassword", True),
        ("apikey", True),
        ("awsAccessKeyId", True),
        ("SASToken", True),
        *((f"{start}{word}", True) for start in ("", "my_", "x-Amz-", "a.b.") for word in LAST_WORDS),
        *((f"my{word.title()}", True) for word in LAST_WORDS),
        ("DB_PASS_2", True),
        ("X-Amz-Signature", True),
        ("setCookie", True),
        ("path", False),
        ("pattern", False),
        ("bypass", False),
        ("pass_rate", False),
        ("compass", False),
        ("sig_terms", False),
        ("significant_terms", False),
        ("signatures", False),
        ("cookie_count", False),
        ("jwt_issuer", False),
        ("pwm", False),
        ("tokenizer", False),
        ("token_chars", False),
        ("max_token_length", False),
        ("max_tokens", False),
        ("author", False),
        ("authors", False),
        ("secretary", False),
        ("sasquatch", False),
        ("bulk_size", False),
        ("key", False),
        ("key_field", False),
        ("keyword", False),
        ("string", False),
        ("connection", False),
        ("", False),
    ],
)
def test_secret_keys_are_recognized_by_their_names(key: str, secret: bool) -> None:
    assert is_secret(key) is secret


def test_secret_values_are_found_at_any_depth() -> None:
    params = {
        "secret_a": "hunter2",
        "secret_short": "abc",
        "secret_pin": 123456,
        "secret_flag": True,
        "list": [{"password": "in-list"}, "open"],
        "secret_map": {"user": ["someone"]},
        "open": "value",
    }
    assert secret_values(params) == {"hunter2", "123456", "in-list", "someone"}


def test_secrets_within_lists_are_redacted() -> None:
    params = {"hosts": [{"name": "a", "secret_x": 1}, [{"my_token": "t"}]], "s3.secret_key": "k", "n": 1}
    assert redact_params(params) == {
        "hosts": [{"name": "a", "secret_x": "<hidden>"}, [{"my_token": "<hidden>"}]],
        "s3.secret_key": "<hidden>",
        "n": 1,
    }


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ('headers is "hunter2 x"', 'headers is "<hidden>"'),
        ("/_search?q=hunter2%20x", "/_search?q=<hidden>"),
        ('is "abc hunter...', 'is "abc <hidden>...'),
        ('is "abc hunter2…', 'is "abc <hidden>…'),
        ("hunt… hunter... …", "<hidden>… <hidden>... …"),
        ("wait ... and hunter", "wait ... and hunter"),
        ("nothing", "nothing"),
    ],
)
def test_secrets_in_text_are_redacted(text: str, hidden: str) -> None:
    assert redact(text, {"hunter2 x"}) == hidden


def test_the_longest_secret_is_redacted_first() -> None:
    assert redact("passpass1", ["pass", "passpass1"]) == "<hidden>"


@pytest.mark.parametrize("user", ["", "e", "el", "elastic"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_secrets_within_base64_are_redacted(user: str, encode: Callable[[bytes], bytes]) -> None:
    for secret in ("hunter-2", "hunter-22", "hunter-222", "ÿþ?>ÿþ?>~~"):
        encoded = encode(f"{user}:{secret}:x".encode()).decode()
        hidden = redact(f"sent {encoded} to it", {secret})
        assert hidden.count("<hidden>") == 1
        # What is left does not contain three bytes of the secret.
        assert len(hidden) <= len("sent <hidden> to it") + len(encode(f"{user}:".encode())) + 8
        assert redact(quote(encoded, safe=""), {secret}) != quote(encoded, safe="")
    assert redact("aHVudGVy", {"hunter"}) == "aHVudGVy", "too short to be redacted within other text"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Authorization: Basic ZWxhc3RpYzp4", "Authorization: Basic <hidden>"),
        ('{"authorization":"bearer abcdefgh1.x-y_z=="}', '{"authorization":"bearer <hidden>"}'),
        ("APIKEY  bXkta2V5=, next", "APIKEY  <hidden>, next"),
        ("Basic%20ZWxhc3RpYzp4", "Basic%20<hidden>"),
        ("basic authentication failed", "basic authentication failed"),
        ("Basic Authentication failed", "Basic Authentication failed"),
        (
            'Basic realm="security", Bearer realm="security"',
            'Basic realm="security", Bearer realm="security"',
        ),
        ("the bearer token is missing", "the bearer token is missing"),
    ],
)
def test_credentials_of_http_headers_are_redacted(text: str, hidden: str) -> None:
    assert redact(text, ()) == hidden
    assert redact(hidden, ("unrelated",)) == hidden


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ('cannot use {"api_key":"ab","n":1}', 'cannot use {"api_key":"<hidden>","n":1}'),
        (r'"{\"api_key\": \"a\\\"b\", \"n\": 1}"', r'"{\"api_key\": \"<hidden>\", \"n\": 1}"'),
        ("{'x-secret': 'a\\'b', 'n': 1}", "{'x-secret': '<hidden>', 'n': 1}"),
        ("[('x-secret', 'ab'), ('n', 'b')]", "[('x-secret', '<hidden>'), ('n', 'b')]"),
        ('sent \'n: {"token": "ab"}\'', 'sent \'n: {"token": "<hidden>"}\''),
        ("/a?access_token=abcd&n=1", "/a?access_token=<hidden>&n=1"),
        ("/a?n=1&key=0123456789abcdef", "/a?n=1&key=<hidden>"),
        ("{x-secret=[ab, cd], n=[1]}", "{x-secret=[<hidden>], n=[1]}"),
        ('"api_key": ["ab", "cd"], "n"', '"api_key": [<hidden>], "n"'),
        ("{client_secret=ab,cd, n=1}", "{client_secret=<hidden>, n=1}"),
        ("x-api-key: abcdefg8\r\nn: 1", "x-api-key: <hidden>\r\nn: 1"),
        ('"password": 1234, "n": 5678', '"password": <hidden>, "n": 5678'),
        ('"password": "abcd efgh…', '"password": "<hidden>'),
        ("password='ab\nnext line'", "password='<hidden>\nnext line'"),
        ('"token": "<hidden>"', '"token": "<hidden>"'),
        ('"auth":"Basic <hidden>"', '"auth":"Basic <hidden>"'),
        ("curl --token ab12 --n 1234", "curl --token <hidden> --n 1234"),
        ("curl --api-key  'abcd' -n", "curl --api-key  '<hidden>' -n"),
        ("curl --password=ab12", "curl --password=<hidden>"),
        ("java -Da.keyPassword=ab12 -Dn=1", "java -Da.keyPassword=<hidden> -Dn=1"),
        ("invalid token [abcdefg8] of [user1234]", "invalid token [<hidden>] of [user1234]"),
        *(
            (text, text)
            for text in (
                *('"auth": true', "auth=false", '"password": ""', '"password":', "pw=1", "password: "),
                *("unknown token: VALUE_STRING", "token: must be one of 3 names", '"token": is missing'),
                *("max_tokens=5120, token_count=1000", '["password", "user"]', "key=0123456789abcdef"),
                *("--token is missing", "--password FILE", "unexpected token [START_OBJECT]", "token [1234]"),
                *("tokenizer=standard", "credentials are wrong: see 12345678", "the token: [START_OBJECT]"),
            )
        ),
    ],
)
def test_values_of_secret_names_are_redacted_in_text(text: str, hidden: str) -> None:
    assert redact(text, ()) == hidden
    assert redact(hidden, ("unrelated",)) == hidden


@pytest.mark.parametrize(
    "unit",
    [
        *('token="', r"token=\"", "token=[", "token: ", "token=a", '"token"', "token [", "--token "),
        *("token:", "token_", "\ufffd", "://", "://a:a", "://a@"),
    ],
)
@pytest.mark.parametrize("end", ["", " @ ? …"])
def test_names_in_long_text_are_redacted_in_linear_time(unit: str, end: str) -> None:
    """Quadratic time would be many seconds."""
    text = unit * 4_000 + end
    redact_urls(redact(text, {"hunter-2"}))
    assert redact_before_at(text).count("@") == text.count("@")


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("password:token:x:token=abcd", "password:token:x:token=<hidden>"),
        ('password:token:["abcdefg8"]', "password:token:[<hidden>]"),
        (r"password:token:\"ab\"", r"password:token:\"<hidden>\""),
        ("password:token: abcdefg8", "password:token: <hidden>"),
        ("?key=token:abcdefg8", "?key=token:<hidden>"),
    ],
)
def test_secrets_within_a_value_that_is_shown_are_redacted(text: str, hidden: str) -> None:
    assert redact(text, ()) == hidden


ODD = "hunter\"quo\\te/ü&<x>=%+\t'AB  12"


@pytest.mark.parametrize(
    "form",
    [
        repr(ODD)[1:-1],
        ascii(ODD)[1:-1],
        repr(ODD.encode())[2:-1],
        json.dumps(ODD)[1:-1],
        quote_plus(ODD),
        re.sub("%..", lambda code: code[0].lower(), quote(ODD, safe="")),
        re.sub("%..", lambda code: code[0].lower(), quote_plus(ODD)),
        quote(quote(ODD, safe=""), safe=""),
        quote(quote(ODD)),
        html.escape(ODD),
        html.escape(ODD, quote=False),
        " ".join(ODD.split()),
    ],
)
def test_encoded_secrets_are_redacted(form: str) -> None:
    assert redact(f"a {form} b", {ODD}) == "a <hidden> b"
    assert redact(f"a {form[:-1]}…", {ODD}) == "a <hidden>…"


def test_an_exception_with_a_dictionary_contains_no_secret() -> None:
    assert redact(str(ValueError({"a": ODD})), {ODD}) in ("{'a': '<hidden>'}", "{'a': \"<hidden>\"}")


def test_the_lines_of_a_private_key_are_redacted() -> None:
    key = "-----BEGIN KEY-----\n0123456789abcdef\nxyz"
    assert redact(f"a {key} b", {key}) == "a <hidden> b"
    assert redact(f"a {' '.join(key.split())} b", {key}) == "a <hidden> b"
    assert redact("a\n0123456789abcdef\nb", {key}) == "a\n<hidden>\nb"


def test_a_secret_that_is_cut_within_a_character_is_redacted() -> None:
    text = "hunter-ü"[:8].encode()[:-1].decode(errors="replace")
    assert redact(f"a {text}…", {"hunter-ü-1"}) == "a <hidden>\ufffd…"


def test_text_without_secrets_is_unchanged() -> None:
    assert redact("text", ()) == "text"


def test_secrets_of_bodies_are_redacted_but_not_definitions_of_fields() -> None:
    mapping = {"mappings": {"properties": {"token": {"type": "keyword"}, "auth": {"properties": {}}}}}
    assert redact_body(json.dumps(mapping)) == json.dumps(mapping)
    analysis = '{"tokenizer": {"a": {"token_chars": ["letter"], "max_token_length": 5}}, "auth": false}'
    assert redact_body(analysis) == analysis
    nested = {"source": {"remote": {"host": "https://me:pw@h:9200", "credentials": {"user": "me"}}}, "k": 1}
    assert json.loads(redact_body(json.dumps(nested))) == {
        "source": {"remote": {"host": "https://<hidden>@h:9200", "credentials": "<hidden>"}},
        "k": 1,
    }
    aggregation = '{"aggs":{"cookie":{"terms":{"field":"cookie.keyword"}}},"term":{"path":"a"}}'
    assert redact_body(aggregation) == aggregation
    assert redact_body('{"a":{"cookie":"k=1","auth_sig":{"b":1}}}') == (
        '{"a":{"cookie":"<hidden>","auth_sig":"<hidden>"}}'
    )
    lines = '{"index": {}}\n{"pwd": "hunter2", "n": [{"sas": "x"}]}\n'
    assert redact_body(lines) == '{"index": {}}\n{"pwd":"<hidden>","n":[{"sas":"<hidden>"}]}\n'
    assert redact_body("not JSON: http://t@h") == "not JSON: http://<hidden>@h"


def test_long_secrets_of_bodies_are_redacted_elsewhere() -> None:
    body = {
        "account_key": "0123456789",
        "auth": "basic",
        "properties": {"token": {"type": "search_as_you_type"}},
    }
    assert body_secrets(json.dumps(body)) == {"0123456789"}
    assert body_secrets('{"a": 1}\n{"b": {"credentials": ["abcdefgh", {"c": "ijklmnop"}]}}\n') == {
        "abcdefgh",
        "ijklmnop",
    }


@pytest.mark.parametrize(
    ("path", "redacted"),
    [
        ("/a/_search?q=1&api%5Fkey=x&pretty", "/a/_search?q=1&api%5Fkey=<hidden>&pretty"),
        ("/a?token=", "/a?token="),
        (
            "/a?key=x&code=y&Key=z&barcode=1&key2=2",
            "/a?key=<hidden>&code=<hidden>&Key=<hidden>&barcode=1&key2=2",
        ),
        ("/a", "/a"),
    ],
)
def test_secrets_of_query_strings_are_redacted(path: str, redacted: str) -> None:
    assert redact_query(path) == redacted


@pytest.mark.parametrize(
    ("url", "redacted"),
    [
        ("https://me:pw@h:1/x", "https://<hidden>@h:1/x"),
        ("https://token@h", "https://<hidden>@h"),
        ("https://me:p%40w@[::1]:9200", "https://<hidden>@[::1]:9200"),
        ("http://me:p@ss@h/x", "http://<hidden>@h/x"),
        ("http://me:p/ss@h/x", "http://<hidden>@h/x"),
        ("http://me:p?s#s@h/x", "http://<hidden>@h/x"),
        ("http://h:9200/a@b", "http://h:9200/a@b"),
        ("http://h/a@b", "http://h/a@b"),
        ("http://[::1]:9200/a@b", "http://[::1]:9200/a@b"),
        ('"http://h", "a@b"', '"http://h", "a@b"'),
        ("at https://h/c?sv=1&sig=a%2Fb&se=2, or", "at https://h/c?sv=1&sig=<hidden>&se=2, or"),
        ("https://h/?X-Amz-Signature=f0#t", "https://h/?X-Amz-Signature=<hidden>#t"),
        ('{"u": "https://a:b@h?token=t"}', '{"u": "https://<hidden>@h?token=<hidden>"}'),
        ("a?token=t", "a?token=t"),
        ("https://h/v1?key=AIzaSy0123456789", "https://h/v1?key=<hidden>"),
        ("https://h/api/f?code=0123456789/+==&x=1", "https://h/api/f?code=<hidden>&x=1"),
        ("key=1 code=2", "key=1 code=2"),
        ("two http://a@h and s3://b:c@h", "two http://<hidden>@h and s3://<hidden>@h"),
        ("http://a:b/c@h,http://d:e/f http://g", "http://<hidden>@h,http://d:e/f http://g"),
        ("/p?u=http://h?token=t#s3://h?token=t", "/p?u=http://h?token=<hidden>#s3://h?token=<hidden>"),
    ],
)
def test_user_information_of_urls_is_redacted(url: str, redacted: str) -> None:
    assert redact_urls(url) == redacted


def test_what_may_be_user_information_of_an_address_is_redacted() -> None:
    text = "no 'me:pw@h:1' and http://a:b@c, but d"
    assert redact_before_at(text) == "no '<hidden>@h:1' and <hidden>@c, but d"


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        ("https://me:p%40ss@h", {"p%40ss", "p@ss"}),
        ("https://elastic:secret@h", {"secret"}),
        ("https://elastic@h", set()),
        ("https://0123456789@h", {"0123456789"}),
        ("https://h/c?sig=a%2Fb%2Fc%2Fde&x=abcdefgh", {"a%2Fb%2Fc%2Fde", "a/b/c/de"}),
        ("https://0123456789abcdef:x-oauth@h", {"0123456789abcdef", "x-oauth"}),
        ("https://h/v1?key=AIzaSy0123456789", {"AIzaSy0123456789"}),
        ("https://h/f?key=documents&code=DE&api_key=01234567", {"01234567"}),
    ],
)
def test_passwords_and_tokens_of_urls_are_secrets(url: str, secrets: set[str]) -> None:
    assert url_secrets(url) == secrets
    assert secret_values({"urls": [url]}) == secrets
    assert body_secrets(json.dumps({"urls": [url]})) == {each for each in secrets if len(each) >= 8}


def test_user_names_of_urls_are_redacted() -> None:
    assert redact_params({"host": ["https://me:pw@h:1/x", "a@b"]}) == {
        "host": ["https://<hidden>@h:1/x", "a@b"]
    }


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ('{"a": 1 "client_secret":"abc,\\"d", "b": 2}', '{"a": 1 "client_secret":"<hidden>", "b": 2}'),
        ('{"api-key" "abcd", "b": x}', '{"api-key" "<hidden>", "b": x}'),
        ("{api-key: 'ab cd'\n, }", "{api-key: <hidden>\n, }"),
        ('{"pass_rate": 1, "password": 1234, }', '{"pass_rate": 1, "password": <hidden>, }'),
        ('{"password": "never ends, "a": 1\n}', '{"password": <hidden>\n}'),
        ('"password: "abcd"', '"password: "<hidden>"'),
        ('"secrets": {"a": "}", "b":\n ["c"]}, "d": 1,}', '"secrets": <hidden>\n, "d": 1,}'),
        ('"credentials": ["a",\n"b"', '"credentials": <hidden>\n'),
        ('"cookie": {"terms": {}},}', '"cookie": {"terms": {}},}'),
        ('"password": true,}', '"password": true,}'),
        ('"path": "/x?token=abc&b=1",}', '"path": "/x?token=<hidden>&b=1",}'),
        ('"u": "http://me:pw@h/",}', '"u": "http://<hidden>@h/",}'),
        ("the password is wrong, a: b", "the password is wrong, a: b"),
        (
            '{"query": {"match": {"token_count": "a b"}} "size": 3',
            '{"query": {"match": {"token_count": "a b"}} "size": 3',
        ),
    ],
)
def test_secret_keys_are_redacted_in_text_that_is_not_valid_json(text, hidden):
    assert redact_unparsed(text) == hidden


def test_long_text_that_is_not_valid_json_is_redacted_in_linear_time():
    """Quadratic time would be an hour."""
    words = 'password"' * 10_000 + "a:" * 10_000
    text = words + "a" * 500_000 + " " * 500_000 + '"' * 50_000 + '"pwd":"abcd",}'
    assert redact_unparsed(text).endswith('"pwd":"<hidden>",}')
