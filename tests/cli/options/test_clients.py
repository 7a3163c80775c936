"""`--client-options`, and `--target-hosts` of several clusters, in all their forms."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from pacenote.cli.options.clients import VARIABLE, ClientOptionsByCluster, client_options
from pacenote.cli.options.values import hosts
from pacenote.errors import UsageError
from pacenote.model.client_options import NO_TIMEOUT_S, ClientOptions, TlsOptions
from support.records import record


@pytest.fixture(autouse=True)
def no_variable(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


def parse(text: str) -> ClientOptions:
    return client_options(text).for_clusters(["default"])["default"]


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


def test_defaults_without_client_options():
    assert parse("") == ClientOptions()
    assert parse("timeout:5") == ClientOptions(timeout_s=5.0)
    assert parse('{"verify_certs": true}').timeout_s == 60.0


def test_tls_options_are_parsed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = parse("use_ssl:true,ca_certs:ca.pem,client_cert:/c.pem,client_key:'/k,.pem'")
    assert given.use_ssl is True
    assert given.tls == TlsOptions(str(tmp_path / "ca.pem"), "/c.pem", "/k,.pem")
    assert parse("verify_certs:false").tls == TlsOptions(verify=False, verify_host=False)
    assert parse("ssl_assert_hostname:false").tls == TlsOptions(verify_host=False)
    assert parse("ssl_assert_hostname:es.example").tls == TlsOptions(server_name="es.example")
    assert parse('{"use_ssl": "False", "ssl_assert_hostname": true}') == ClientOptions(use_ssl=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("basic_auth_user:me,basic_auth_password:'hunter2,:x'", basic("me:hunter2,:x")),
        ("basic_auth_user:me,basic_auth_password:007", basic("me:007")),
        ("basic_auth_user:me,basic_auth_password:true", basic("me:true")),
        ("basic_auth_user:me,basic_auth_password:@@at", basic("me:@at")),
        ('{"basic_auth_user": "me", "basic_auth_password": 7}', basic("me:7")),
        ("basic_auth:me:a:b", basic("me:a:b")),
        ('{"basic_auth": ["me", "ünï"]}', basic("me:ünï")),
        ("http_auth:me:b", basic("me:b")),
        ("api_key:aWQ6a2V5", "ApiKey aWQ6a2V5"),
        ("api_key:id:key", "ApiKey aWQ6a2V5"),
        ('{"default": {"api_key": ["id", "key"]}}', "ApiKey aWQ6a2V5"),
        ("bearer_auth:t0ken", "Bearer t0ken"),
        ("bearer_token:t0ken", "Bearer t0ken"),
        ('{"headers": {"Authorization": "Negotiate abc"}}', "Negotiate abc"),
    ],
)
def test_credentials_become_an_authorization_header(text, expected):
    given = parse(text)
    assert given.authorization == expected
    assert given.headers == ()
    assert expected not in repr(given)


def test_secrets_are_read_from_files(tmp_path):
    (tmp_path / "secret").write_text("hunter2\n")
    secret = f"@{tmp_path / 'secret'}"
    assert parse(f"basic_auth_user:me,basic_auth_password:{secret}").authorization == basic("me:hunter2")
    assert parse(f"api_key:{secret}").authorization == "ApiKey hunter2"
    (tmp_path / "secret").write_text("me:@hunter2")
    assert parse(f"basic_auth:{secret}").authorization == basic("me:@hunter2")
    (tmp_path / "all.json").write_text(json.dumps({"headers": {"x-key": secret}, "timeout": 5}))
    assert parse(str(tmp_path / "all.json")).headers == (("x-key", "me:@hunter2"),)


@pytest.mark.parametrize("option", ["api_key", "basic_auth"])
def test_the_length_of_a_secret_in_a_file_is_limited(option, tmp_path):
    (tmp_path / "secret").write_text("u:" + "a" * 65_534)
    assert parse(f"{option}:@{tmp_path / 'secret'}").authorization
    for path in (tmp_path / "longer", Path("/dev/zero")):
        (tmp_path / "longer").write_text("u:" + "a" * 65_535)
        message = f"^--client-options: {option} names a file with more than 65536 characters$"
        with pytest.raises(UsageError, match=message):
            parse(f"{option}:@{path}")


def test_the_option_overrides_the_environment_key_by_key(monkeypatch):
    monkeypatch.setenv(VARIABLE, "basic_auth_user:me,basic_auth_password:hunter2,timeout:5")
    assert parse("") == ClientOptions(timeout_s=5.0, authorization=basic("me:hunter2"))
    assert parse("request_timeout:7,http_compress:true") == ClientOptions(
        timeout_s=7.0, authorization=basic("me:hunter2"), compress=True
    )
    assert parse("api_key:abc").authorization == "ApiKey abc"
    monkeypatch.setenv(VARIABLE, "basic_auth_user:me")
    with pytest.raises(UsageError, match=f"{VARIABLE}: basic_auth_user and basic_auth_password go together"):
        parse("")


def test_headers_and_compression_are_parsed():
    given = parse('{"headers": {"X-Team": "a b", "x-n": 1}, "opaque_id": "race-7", "compressed": true}')
    assert given.headers == (("x-team", "a b"), ("x-n", "1"), ("x-opaque-id", "race-7"))
    assert given.compress


def test_options_without_effect_are_accepted_and_retries_are_reported():
    assert parse("max_connections:512,enable_cleanup_closed:true,ssl_show_warn:false") == ClientOptions()
    assert parse("max_retries:0,retry_on_timeout:false") == ClientOptions()
    off = "create_api_key_per_client:false,static_responses:none"
    assert parse(off) == ClientOptions()
    assert parse('{"retry_on_status": [503], "max_retries": 3}').remarks == (
        "--client-options: max_retries, retry_on_status have no effect: requests are never retried silently",
    )


def test_options_of_elasticsearch_py_without_effect_are_named():
    assert parse("sniff_on_start:false,meta_header:false,maxsize:10") == ClientOptions()
    given = parse("sniff_on_start:true,sniffer_timeout:5,randomize_hosts:true,meta_header:true")
    assert given.remarks == (
        "--client-options: sniff_on_start, min_delay_between_sniffing have no effect: "
        "requests go to the hosts of --target-hosts",
        "--client-options: randomize_nodes_in_node_pool has no effect: "
        "each client uses the hosts in turn, and sets one that fails aside for 1 to 30 s",
        "--client-options: meta_header has no effect: the driver has its own HTTP client",
    )
    assert given == ClientOptions(remarks=given.remarks)


def test_a_timeout_of_none_is_the_longest_time_that_is_recorded():
    assert parse("timeout:None").timeout_s == parse('{"request_timeout": null}').timeout_s == NO_TIMEOUT_S


def test_clients_can_have_api_keys_of_their_own():
    assert parse("create_api_key_per_client:true,basic_auth_user:u,basic_auth_password:p").api_key_per_client
    assert parse('{"create_api_key_per_client": "False"}') == ClientOptions()


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("verify_cert:false", "unknown client option 'verify_cert'", "did you mean verify_certs"),
        ("user_agent:3", "unknown client option 'user_agent'", "options: timeout, use_ssl"),
        ("basic_auth_user:me,basic_auth_password:a,B4:c", "an item is not a client option", ""),
        ("verify_certs:no", "verify_certs must be true or false", ""),
        ("timeout:0", "timeout must be a number of seconds above 0", ""),
        ("timeout:true", "timeout must be a number of seconds above 0", ""),
        ("timeout:5,request_timeout:6", "request_timeout and timeout are the same option", ""),
        ("basic_auth_user:me", "basic_auth_user and basic_auth_password go together", ""),
        ("basic_auth:hunter2", "basic_auth must be two strings", ""),
        ('{"api_key": ["hunter2"]}', "api_key must be two strings", ""),
        ('{"api_key": true}', "api_key must be a string", ""),
        ("api_key:hunter2,bearer_auth:hunter2", "give one of basic_auth_user, basic_auth, api_key", ""),
        ("bearer_auth:'hunter2\n'", "bearer_auth is empty or contains characters", ""),
        (
            "api_key:@/no/such/hunter2",
            "api_key names a file that cannot be read: No such file",
            "written @@…",
        ),
        ("client_key:/k.pem", "client_key needs client_cert", ""),
        ('{"ca_certs": 1}', "ca_certs must be the name of a file", ""),
        ('{"headers": {"a b": "c"}}', "headers contains an invalid header name", ""),
        ('{"headers": {"Host": "c"}}', "headers cannot set host, which the driver sets", ""),
        (
            '{"headers": {"Accept-Encoding": "br"}}',
            "headers contains Accept-Encoding, which must be gzip or identity",
            "",
        ),
        ("headers:hunter2", "headers must be an object", "in JSON"),
        ('{"headers": {"authorization": "x"}, "api_key": "y"}', "give credentials or an authorization", ""),
        ("create_api_key_per_client:perhaps", "create_api_key_per_client must be true or false", ""),
        ("static_responses:a.json", "static_responses is not available", "with fixed responses"),
        ("cloud_id:x", "cloud_id is not available", "URL of the deployment"),
        ("ssl_assert_fingerprint:ab", "ssl_assert_fingerprint is not available", "ca_certs"),
        ('{"default": {}, "other": 1}', "the options of a cluster must be an object", ""),
    ],
)
def test_invalid_options_are_rejected(text, message, hint):
    with pytest.raises(UsageError) as caught:
        client_options(text)
    assert caught.value.message.startswith(f"--client-options: {message}")
    assert hint in caught.value.hint
    assert "hunter2" not in caught.value.message + caught.value.hint


def test_the_content_of_a_file_that_is_not_an_object_is_not_shown(tmp_path):
    (tmp_path / "secret.json").write_text('["hunter2"]')
    with pytest.raises(UsageError, match="--client-options is a list, but must be an object"):
        client_options(str(tmp_path / "secret.json"))


def test_options_must_name_the_clusters_of_the_hosts():
    given = client_options('{"default": {"timeout": 5}, "other": {}}')
    assert given.for_clusters(["other", "default"])["default"].timeout_s == 5.0
    assert client_options("").for_clusters(["default", "other"]) == dict.fromkeys(
        ("default", "other"), ClientOptions()
    )
    for wrong in (given.for_clusters, client_options("api_key:abc").for_clusters):
        with pytest.raises(
            UsageError, match=r"--client-options are for .*, but --target-hosts for default, third"
        ):
            wrong(["default", "third"])
    assert isinstance(given, ClientOptionsByCluster)


def test_hosts_are_parsed_by_cluster(tmp_path: Path):
    several = {"default": ["a:1", {"host": "::1", "port": 2}], "far": [{"host": "b", "url_prefix": "/x/"}]}
    expected = {"default": ("a:1", "[::1]:2"), "far": ("b/x",)}
    assert hosts(json.dumps(several)) == expected
    (tmp_path / "h.json").write_text(json.dumps(several))
    assert hosts(str(tmp_path / "h.json")) == expected
    assert hosts('[{"host": "a", "use_ssl": true}]') == {"default": ("https://a",)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": ["h"]}', "--target-hosts names no cluster 'default'"),
        ('{"default": []}', "--target-hosts must be a list of hosts"),
        ('{"default": "h"}', "--target-hosts must be a list of hosts"),
        ('[{"port": 1}]', "--target-hosts must be a list of hosts"),
        ('[{"host": "h", "http_auth": "me:hunter2"}]', "--target-hosts: a host has no key 'http_auth'"),
    ],
)
def test_invalid_hosts_are_rejected(text, message):
    with pytest.raises(UsageError, match=message) as caught:
        hosts(text)
    assert "hunter2" not in caught.value.message


def test_a_race_receives_the_options_and_shows_no_secret(run, fake_race):
    requests = fake_race(lambda request, listener: record(request.race_id))
    code, _, err = run(
        *("race", "--track=x", '--target-hosts={"default": ["https://u:hunter2@a"], "far": ["b"]}'),
        '--client-options={"default": {"max_retries": 3}, "far": {"api_key": "hunter2"}}',
    )
    assert (code, err) == (
        0,
        "warning: --client-options: max_retries has no effect: requests are never retried silently\n",
    )
    (request,) = requests
    assert request.pipeline == "benchmark-only"
    assert [(other.name, other.client.authorization) for other in request.additional_clusters] == [
        ("far", "ApiKey hunter2")
    ]
    assert "hunter2" not in repr(request)


def test_errors_name_the_source_of_an_option(monkeypatch):
    monkeypatch.setenv(VARIABLE, "use_ssl:perhaps,max_retries:3")
    with pytest.raises(UsageError, match=f"^{VARIABLE}: use_ssl must be"):
        parse("timeout:5")
    assert parse("use_ssl:true").remarks[0].startswith(f"{VARIABLE}: max_retries has no effect")
    with pytest.raises(UsageError, match=r"^--client-options: timeout must be"):
        parse("timeout:x,use_ssl:true")
    monkeypatch.setenv(VARIABLE, '{"headers": {"authorization": "x"}}')
    with pytest.raises(UsageError, match=rf"^--client-options and {VARIABLE}: give credentials or"):
        parse("api_key:x")
