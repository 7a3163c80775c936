"""The race record describes the connection to the cluster, and the steps of the plan."""

from __future__ import annotations

from pacenote.model.client_options import TlsOptions
from pacenote.model.race_record import RecordedClient
from pacenote.model.track import Parallel
from pacenote.plan.document import Target, TargetHost, TargetProxy
from pacenote.race.record import recorded_client, recorded_steps
from plan.planning import plan, task


def test_tls_and_proxies_are_recorded() -> None:
    through = TargetProxy("http", "proxy.example", 3128, "Basic bWU6aHVudGVyMg==")
    target = Target(
        hosts=(TargetHost("https", "es.example", 9200, "/x", through), TargetHost("https", "::1", 9200)),
        headers=(("authorization", "ApiKey abc"), ("X-Tenant", "t")),
        timeout_ms=60_000,
        compress=True,
        tls=TlsOptions(client_cert="/c.pem", verify_host=False),
    )
    assert recorded_client(target) == RecordedClient(
        hosts=("https://es.example:9200/x", "https://[::1]:9200"),
        proxies={"es.example:9200": "http://proxy.example:3128"},
        tls=True,
        certificates_verified=True,
        host_names_verified=False,
        client_certificate=True,
        authentication="api-key",
        compress=True,
        timeout_s=60.0,
        headers=("x-tenant",),
    )


def test_the_tasks_of_steps_with_several_are_recorded() -> None:
    mixed = Parallel((task("a"), task("b")), name="mixed")
    assert recorded_steps(plan(task("alone"), mixed, Parallel((task("c"), task("d"))))) == {
        "mixed": ("a", "b"),
        "c, d": ("c", "d"),
    }
