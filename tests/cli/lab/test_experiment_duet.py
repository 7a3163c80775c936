"""Whether both engines of a duet fit into the machine."""

from pathlib import Path

import pytest

from pacenote.cli.lab.experiment_duet import check_memory_of_both
from pacenote.errors import UsageError
from pacenote.model.engine_options import EngineOptions
from pacenote.model.node_options import NodeGroup, NodeOptions
from pacenote.model.race_request import RaceRequest

GIB = 1 << 30


def request(heap, nodes=1):
    engine = EngineOptions(car_params={"heap_size": heap}, nodes=NodeOptions((NodeGroup(nodes),)))
    return RaceRequest(race_id="r", home=Path("/home"), engine=engine)


def test_the_heaps_of_both_engines_must_fit_into_the_memory():
    check_memory_of_both([request("1g"), request("2g")], 4 * GIB)
    check_memory_of_both([request("1g"), request("2g")], None)
    with pytest.raises(UsageError) as raised:
        check_memory_of_both([request("1g", nodes=2), request("2g")], 4 * GIB)
    assert raised.value.message == (
        "too little memory: both engines of a duet need 5.5 GiB, but only 4.0 GiB are available"
    )


@pytest.mark.process
def test_a_dry_run_of_a_duet_shows_its_halves(run, tmp_path):
    file = tmp_path / "duet.toml"
    file.write_text('design = "duet"\n[race]\ntrack = "http_logs"\n[variants.a]\n[variants.b]\ncar = "zgc"\n')
    code, out, err = run("experiment", "run", file, "--dry-run")
    assert code == 0, err
    assert [line.partition(":")[0] for line in out.splitlines() if line.startswith("half")] == [
        "half 1",
        "half 2",
    ]


@pytest.mark.parametrize(
    "given",
    [
        ('set = {"engine.http.port" = 39200}', "", "engine.http.port=39200 cannot be used"),
        ("set = '{\"engine.http.port\": 39200}'", "", '"b": http.port cannot be given'),
        (
            'car-params = {additional_cluster_settings = {"http.port" = 1}}',
            "",
            '"b": http.port cannot be given',
        ),
        ("", 'set = "engine.transport.port=1"', '"a": transport.port cannot be given'),
        ("", 'target-hosts = "127.0.0.1:1"', '"a": target-hosts cannot be used: a duet starts both engines'),
        ("", 'pipeline = "docker"', '"a": pipeline docker cannot be used: a duet starts both engines'),
        ("", 'data = "keep"', "data keep cannot be used"),
    ],
)
def test_what_two_engines_cannot_have_is_refused_in_every_form(run, tmp_path, monkeypatch, given):
    variant, configured, message = given
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PACENOTE_TRUST", "1")
    (tmp_path / "pacenote.toml").write_text(f"[race]\n{configured}\n")
    file = tmp_path / "duet.toml"
    file.write_text(f'design = "duet"\n[race]\ntrack = "http_logs"\n[variants.a]\n[variants.b]\n{variant}\n')
    code, out, err = run("experiment", "run", file, "--dry-run")
    assert (code == 0, out) == (False, "")
    assert message in err
