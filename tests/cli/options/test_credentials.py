"""Credentials are only used for an address from the same source."""

from __future__ import annotations

import pytest

from support.metrics_store import fake_store
from support.records import record


@pytest.fixture
def configured(home, tmp_path, monkeypatch):
    """Returns a function that writes the files of the home and of the working folder, which is trusted."""
    work = tmp_path / "work"
    work.mkdir()
    home.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("PACENOTE_TRUST", "1")

    def write(in_home, in_work=""):
        (home / "pacenote.toml").write_text(in_home)
        (work / "pacenote.toml").write_text(in_work)

    return write


@pytest.fixture
def race(run, fake_race):
    requests = fake_race(lambda request, listener: record(request.race_id))

    def race(*arguments):
        code, _, err = run("race", "--track=x", "--pipeline=benchmark-only", *arguments)
        assert code == 0, err
        return requests[-1].client, err

    return race


SECRET = '"basic_auth_user:me,basic_auth_password:hunter2hunter2,timeout:7"'
OTHERS = (
    f"client-options = {SECRET}\n",
    'client-options = {api_key = "aHVudGVyMg==", timeout = 7}\n',
    'client-options = {headers = {x-token = "hunter2"}, timeout = 7}\n',
    '[race]\nclient-options = {default = {bearer_auth = "hunter2", timeout = 7}}\n',
)


@pytest.mark.parametrize("clients", OTHERS)
def test_credentials_of_the_home_do_not_go_to_hosts_of_a_folder(configured, race, home, tmp_path, clients):
    configured(clients, 'target-hosts = "theirs:9200"\n')
    client, err = race()
    table = "race." if clients.startswith("[race]") else ""
    assert (client.authorization, client.headers, client.timeout_s) == (None, (), 7)
    assert (
        f"warning: credentials and headers in {home / 'pacenote.toml'}: {table}client-options are not used "
        f"for the target-hosts of {tmp_path / 'work' / 'pacenote.toml'}: give an address and its credentials "
        "in the same file, or the credentials with --client-options\n"
    ) in err
    assert "hunter2" not in err


def test_credentials_go_to_the_hosts_of_their_file(configured, race):
    both = f'target-hosts = "mine:9200"\nclient-options = {SECRET}\n'
    configured(both)
    assert race()[0].authorization
    # The hosts are the same.
    configured(both, 'target-hosts = "mine:9200"\n')
    assert race()[0].authorization
    configured("", both)
    assert race()[0].authorization
    # They belong to other hosts than those of the command line.
    client, err = race("--target-hosts=other:9200")
    assert (client.authorization, client.timeout_s) == (None, 7)
    assert "client-options are not used for --target-hosts: " in err
    assert race("--target-hosts=other:9200", "--client-options=api_key:aHVudGVyMg==")[0].authorization


def test_credentials_without_hosts_go_to_those_of_the_command_line(configured, race, monkeypatch):
    configured(f"client-options = {SECRET}\n")
    assert race("--target-hosts=mine:9200")[0].authorization
    configured("", 'target-hosts = "theirs:9200"\n')
    monkeypatch.setenv("PACENOTE_CLIENT_OPTIONS", "api_key:aHVudGVyMg==")
    assert race()[0].authorization


def _reporting(**values):
    lines = "".join(f"datastore.{key.replace('__', '.')} = {value!r}\n" for key, value in values.items())
    return f"[reporting]\n{lines}"


CREDENTIALS = {"user": "me", "password": "hunter2hunter2"}


def _authorizations(store, run):
    code, _, err = run("list", "races")
    assert code == 0
    assert "hunter2" not in err
    requests, store.requests[:] = list(store.requests), []
    return {request.headers.get("authorization") for request in requests}, err


@pytest.mark.parametrize(
    "change",
    [{"host": "localhost"}, {"ssl__verification_mode": "none"}, {"ssl__certificate_authorities": "x"}],
)
def test_credentials_of_a_store_do_not_go_to_an_address_of_another_file(
    configured, run, home, tmp_path, change
):
    with fake_store() as store:
        own = {"type": "opensearch", "host": "127.0.0.1", "port": store.port, **CREDENTIALS}
        configured(_reporting(**own))
        used, err = _authorizations(store, run)
        assert (None in used, err) == (False, "")
        configured(_reporting(**own), _reporting(**change))
        used, err = _authorizations(store, run)
        assert used == {None}
        assert (
            f"datastore.password of {home / 'pacenote.toml'} is not used for the metrics store of "
            f"{tmp_path / 'work' / 'pacenote.toml'}: "
        ) in err
        configured(_reporting(**own), _reporting(host="localhost", **CREDENTIALS))
        used, err = _authorizations(store, run)
        assert None not in used
        assert "is not used" not in err
        configured(_reporting(**own), _reporting(host="127.0.0.1"))
        assert None not in _authorizations(store, run)[0]


def test_credentials_of_a_store_from_the_environment_are_used(configured, run, monkeypatch):
    with fake_store() as store:
        configured("", _reporting(type="opensearch", host="127.0.0.1", port=store.port))
        assert _authorizations(store, run)[0] == {None}
        monkeypatch.setenv("RALLY_REPORTING_DATASTORE_API_KEY", "hunter2hunter2")
        assert _authorizations(store, run)[0] == {"ApiKey hunter2hunter2"}


def test_credentials_of_rally_do_not_go_to_an_address_of_the_home(configured, run, tmp_path):
    ini = tmp_path / "rally" / ".rally" / "rally.ini"
    ini.parent.mkdir(parents=True)
    with fake_store() as store:
        ini.write_text(
            "[reporting]\ndatastore.type = opensearch\ndatastore.host = 127.0.0.1\ndatastore.port = 1\n"
            "datastore.user = me\ndatastore.password = hunter2hunter2\n"
        )
        configured(_reporting(port=store.port))
        used, err = _authorizations(store, run)
        assert used == {None}
        assert f"datastore.password of {ini} is not used" in err
