"""The options of races as pages, dry runs and the results of searches show them."""

from io import StringIO
from typing import Any

import pytest

from lab.experiment.experiments import pair
from lab.tune.searches import knob, search_plan
from pacenote.cli.console import Console
from pacenote.cli.lab.experiment_dry_run import show_plan
from pacenote.cli.lab.experiment_page import option_text
from pacenote.cli.lab.tune_page import command_words
from pacenote.cli.lab.tune_plan import NewPlan, plan_lines
from pacenote.lab.experiment.public_options import public_arguments
from pacenote.lab.tune.evaluate import candidate_arguments
from pacenote.lab.tune.progress import TuneProgress
from pacenote.model.experiment import Variant

SECRET = "Bare"

GIVEN: list[dict[str, Any]] = [
    {"client-options": {"headers": {"x-custom": SECRET}}},
    {"client-options": {"opaque_id": SECRET, "timeout": 7}},
    {"client-options": {"default": {"basic_auth_password": SECRET, "headers": {"x-custom": SECRET}}}},
    {"client-options": f"timeout:7,opaque_id:{SECRET}"},
    {"client-options": f"basic_auth_user:'u',basic_auth_password:'a,{SECRET}'"},
    {"client-options": f'{{"headers": {{"x-custom": "{SECRET}"}}}}'},
    {"client-options": f'{{"headers": {{"x-custom": "{SECRET}"'},
    {"target-hosts": f"u:{SECRET}@host:1"},
    {"target-hosts": f"a:1,u:{SECRET}@host:1"},
    {"target-hosts": f"https://a:1,u:{SECRET}@host:1"},
    {"target-hosts": f"https://u:{SECRET}@host:1"},
    {"target-hosts": [f"u:{SECRET}@host:1"]},
    {"target-hosts": [f"u:{SECRET},@host:1"]},
    {"target-hosts": {"default": [f"u:{SECRET}@host:1"]}},
    {"target-hosts": {"default": [{"host": f"u:{SECRET}@host"}]}},
    {"target-hosts": f'["u:{SECRET}@host:1"]'},
    {"track-params": f"my_password:{SECRET},docs:5"},
    {"track-params": {"nested": {"my_password": SECRET}}},
    {"user-tags": f"deploy_token:{SECRET}"},
    {"telemetry-params": f"my_password:{SECRET}"},
    {"env": f"MY_TOKEN={SECRET}"},
    {"env": [f"MY_TOKEN={SECRET}"]},
    {"set": [f"some.password={SECRET}"]},
    {"jvm": [f"-Dmy.password={SECRET}"]},
    {"jvm": f"-Dmy.password={SECRET}"},
    {"track-repository": f"https://u:{SECRET}@host/tracks"},
]


@pytest.mark.parametrize("options", GIVEN, ids=str)
def test_no_place_shows_a_secret_in_any_form_of_an_option(options: dict[str, Any]) -> None:
    name = next(iter(options))
    assert SECRET not in " ".join(public_arguments(options))
    assert SECRET not in option_text(options)
    shown = StringIO()
    show_plan(pair(race=options, variants=(Variant("a", {}), Variant("b", options))), Console(shown))
    assert shown.getvalue().count(f"--{name}") == 2
    assert SECRET not in shown.getvalue()
    plan = search_plan(race=options)
    assert SECRET not in " ".join(command_words(plan))
    assert SECRET not in "\n".join(plan_lines(NewPlan(plan, ())))
    assert f"--{name}" in " ".join(command_words(plan))


def test_the_winner_of_a_search_is_shown_without_what_else_its_option_sets() -> None:
    """A candidate changes one entry of a table, whose other entries are shown, too."""
    race = {"client-options": {"opaque_id": SECRET, "timeout": 7}}
    plan = search_plan(knobs=(knob("timeout", option="client-options.timeout"),), race=race)
    shown = " ".join(candidate_arguments(TuneProgress.of(plan, ()), (1,)))
    assert "timeout" in shown
    assert SECRET not in shown


def test_what_is_not_secret_is_shown_as_it_is_given() -> None:
    options = {
        "track-params": "docs:5,path:/a",
        "user-tags": "params.json",
        "target-hosts": "a:1,b:2",
        "client-options": {"timeout": 7},
    }
    expected = ["--track-params=docs:5,path:/a", "--user-tags=params.json", "--target-hosts=a:1,b:2"]
    assert public_arguments(options) == [*expected, '--client-options={"timeout": 7}']
