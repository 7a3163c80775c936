"""The keys of `[reporting]`, as Rally has them."""

from __future__ import annotations

import base64

import pytest

from pacenote.errors import UsageError
from pacenote.metrics_store.settings import KEYS, StoreSettings, store_secrets, store_settings

REQUIRED = {"datastore.type": "elasticsearch", "datastore.host": "es.example", "datastore.port": "9200"}


def settings(environment: dict[str, str] | None = None, **changes: str) -> StoreSettings:
    values = REQUIRED | {key.replace("__", "."): value for key, value in changes.items()}
    read = store_settings(values, environment or {})
    assert read is not None
    return read


@pytest.mark.parametrize("values", [{}, {"datastore.type": "in-memory", "datastore.host": "h"}])
def test_without_a_store_there_are_no_settings(values):
    assert store_settings(values, {}) is None


def test_the_defaults_are_rallys():
    usual = settings()
    assert usual == StoreSettings(type="elasticsearch", host="es.example", port=9200)
    assert (usual.url, usual.use_data_streams, usual.tls.verify) == ("http://es.example:9200", True, True)
    assert settings(datastore__host="::1", datastore__secure="True").url == "https://[::1]:9200"


def test_every_key_has_an_effect():
    given = {
        "datastore.type": "opensearch",
        "datastore.host": "other",
        "datastore.port": "1",
        "datastore.secure": "yes",
        "datastore.user": "rally",
        "datastore.password": "hunter2",
        "datastore.ssl.verification_mode": "none",
        "datastore.ssl.certificate_authorities": "/ca.pem",
        "datastore.probe.cluster_version": "false",
        "datastore.use_data_streams": "False",
        "datastore.number_of_shards": "3",
        "datastore.number_of_replicas": "0",
        "datastore.overwrite_existing_templates": "true",
        "metrics.request.downsample.factor": "10",
    }
    assert given.keys() | {"datastore.api_key"} == set(KEYS)
    for key in given.keys() - {"datastore.user", "datastore.password"}:
        assert store_settings(REQUIRED | {key: given[key]}, {}) != store_settings(REQUIRED, {}), key
    assert store_settings(given, {}) is not None


def test_credentials_are_a_user_or_an_api_key_and_not_shown():
    user = settings(datastore__user="rally", datastore__password="hunter2")
    assert user.authorization == "Basic " + base64.b64encode(b"rally:hunter2").decode()
    encoded = settings(datastore__api_key="QUJD")
    assert (encoded.authorization, encoded.credentials) == ("ApiKey QUJD", "api_key")
    pair = settings(datastore__api_key="id:key")
    assert pair.authorization == "ApiKey " + base64.b64encode(b"id:key").decode()
    assert "hunter2" not in repr(user)
    assert "QUJD" not in repr(encoded)


def test_the_environment_overrides_the_file():
    environment = {
        "RALLY_REPORTING_DATASTORE_USER": "other",
        "RALLY_REPORTING_DATASTORE_PASSWORD": "better",
    }
    overridden = settings(environment, datastore__user="rally", datastore__password="hunter2")
    assert overridden.authorization == "Basic " + base64.b64encode(b"other:better").decode()
    assert store_secrets({"datastore.password": "hunter2"}, environment) == {"hunter2", "better"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"datastore.type": "mysql"}, "datastore.type must be elasticsearch, opensearch or in-memory"),
        ({"datastore.host": ""}, r"\[reporting\] datastore.host is missing"),
        ({"datastore.port": "x"}, "datastore.port must be a whole number from 1 to 65535, not 'x'"),
        ({"datastore.ssl.verification_mode": "off"}, "verification_mode must be full or none, not 'off'"),
        ({"datastore.secure": "maybe"}, "datastore.secure must be true or false, not 'maybe'"),
        (
            {"datastore.number_of_shards": "0"},
            "datastore.number_of_shards must be a whole number of at least 1",
        ),
        (
            {"metrics.request.downsample.factor": "0"},
            "downsample.factor must be a whole number of at least 1",
        ),
        ({"datastore.user": "u"}, "datastore.password is missing for datastore.user"),
        ({"datastore.user": "u", "datastore.api_key": "k"}, "has datastore.user and datastore.api_key"),
    ],
)
def test_invalid_settings_are_reported_with_their_key(changes, message):
    with pytest.raises(UsageError, match=message):
        store_settings(REQUIRED | changes, {})
