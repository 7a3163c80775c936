"""What a node says about its health."""

from __future__ import annotations

import os

import pytest

from pacenote.net.hosts import HttpHost
from pacenote.net.rest import RestClient
from pacenote.provision.node_health import NodeHealth, node_health
from support.http_server import HttpRequest, HttpResponse, http_server, json_response


def health(joined: object, status: object = "green") -> NodeHealth:
    def respond(request: HttpRequest) -> HttpResponse:
        if request.path == "/_cluster/health":
            return json_response({"status": status, "number_of_nodes": joined})
        return json_response({"nodes": {"id": {"process": {"id": os.getpid()}}}})

    with http_server(respond) as server:
        return node_health(RestClient([HttpHost("http", server.host, server.port)]), os.getsid(0), 3)


def test_a_node_is_healthy_if_all_nodes_have_joined() -> None:
    assert health(3) == NodeHealth("", os.getpid())
    assert health(1) == NodeHealth("1 of 3 nodes joined")


@pytest.mark.parametrize("value", [["\x7f" * 1000], {"a": "\x7f" * 1000}])
def test_values_of_other_forms_are_not_made_text(value: object) -> None:
    assert health(value).problem == "an unexpected form of 3 nodes joined"
    assert health(3, value).problem == "an unexpected form"
