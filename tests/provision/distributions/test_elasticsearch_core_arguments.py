"""The server of Elasticsearch 8 and later reads its arguments in a binary form."""

from __future__ import annotations

from pacenote.provision.distributions.elasticsearch_core import server_arguments

KEYSTORE = b"\x31org.elasticsearch.common.settings.KeyStoreWrapper\0\0\0\7\0\0\0\0"


def test_the_arguments_have_the_settings_in_order() -> None:
    arguments = server_arguments({"b": True, "a": 9200, "c": ["x", "y"], "d": None}, "/config", "/logs")
    settings = b"\4" + b"\1a\0\x049200" + b"\1b\0\4true" + b"\1c\7\2\0\1x\0\1y" + b"\1d\xff"
    assert arguments == b"\0\0\0" + KEYSTORE + settings + b"\7/config\5/logs"


def test_texts_are_counted_in_utf_16_units() -> None:
    long = "x" * 200
    arguments = server_arguments({"k": "é😀"}, long, "")
    assert b"\1k\0\3\xc3\xa9\xed\xa0\xbd\xed\xb8\x80" in arguments
    assert arguments.endswith(b"\xc8\1" + long.encode() + b"\0")
