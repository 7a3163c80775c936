"""Where the settings of the metrics store come from."""

from __future__ import annotations

import pytest

from support.metrics_store import fake_store


def reporting(**values: object) -> str:
    lines = "".join(f"{key.replace('__', '.')} = {value!r}\n" for key, value in values.items())
    return f"[reporting]\n{lines}"


def test_pacenotes_own_file_overrides_rallys_key_by_key(run, home, metrics_store):
    home.mkdir()
    with fake_store() as other:
        (home / "pacenote.toml").write_text(reporting(datastore__port=other.port))
        assert run("list", "races") == (0, "No races found.\n", "")
        assert (len(other.requests), len(metrics_store.requests)) == (1, 0)
    (home / "pacenote.toml").write_text(reporting(datastore__type="in-memory"))
    assert run("list", "races") == (0, "No races found.\n", "")
    assert metrics_store.requests == []


def test_a_store_can_be_left_out(run, metrics_store):
    assert run("list", "races", "--no-metrics-store") == (0, "No races found.\n", "")
    assert metrics_store.requests == []


@pytest.mark.parametrize("command", [("race", "--track=x"), ("list", "races"), ("delete", "race", "--id=x")])
def test_an_invalid_setting_is_an_error_before_anything_happens(run, home, fake_race, command):
    requests = fake_race(lambda request, listener: pytest.fail("the race began"))
    home.mkdir()
    values = {"datastore__type": "elasticsearch", "datastore__host": "h", "datastore__port": "abc"}
    (home / "pacenote.toml").write_text(reporting(**values))
    code, _, err = run(*command)
    assert (code, requests) == (2, [])
    assert "[reporting] datastore.port must be a whole number from 1 to 65535, not 'abc'" in err


def test_a_section_with_a_list_is_rejected_with_an_example(run, home):
    home.mkdir()
    (home / "pacenote.toml").write_text(reporting(datastore__host=["a", "b"]))
    code, _, err = run("list", "races")
    assert code == 2
    assert "[reporting] datastore.host is not a text, a number, true or false" in err
    assert 'for example datastore.type = "elasticsearch"' in err


def test_credentials_are_in_no_message(run, home, metrics_store, monkeypatch):
    monkeypatch.setenv("RALLY_REPORTING_DATASTORE_API_KEY", "hunter2hunter2")

    def refuse(request):
        from support.http_server import json_response

        reason = f"unable to authenticate with {request.headers['authorization']}"
        return json_response({"error": {"reason": reason}}, 400)

    metrics_store.answer = refuse
    code, _, err = run("list", "races")
    assert code == 0
    assert "unable to authenticate" in err
    assert "hunter2" not in err
