"""Cars, mixins, plugins and parameters are composed by Rally's rules."""

from pathlib import Path
from typing import Any

import pytest

from pacenote.errors import UsageError
from pacenote.teams.composition import Composition, CompositionRequest, compose
from pacenote.teams.plugins import PluginRequest
from teams.repositories import write_team


def composed(root: Path, *cars: str, **changes: Any) -> Composition:
    return compose(write_team(root), CompositionRequest(cars=cars, **changes))


def test_variables_of_later_cars_override_those_of_earlier_ones_and_of_all_bases(tmp_path: Path) -> None:
    # The mixin's base defines heap_size and collector again, but bases come before cars.
    variables = composed(tmp_path, "small", "serial", "buffers").variables
    assert (variables["heap_size"], variables["collector"]) == ("300m", "Serial")
    assert composed(tmp_path, "small", "large").variables["heap_size"] == "2g"


def test_parameters_override_all_cars(tmp_path: Path) -> None:
    params = {"heap_size": "700m", "additional_cluster_settings": {"a.b": 1}}
    variables = composed(tmp_path, "small", "large", car_params=params).variables
    assert variables["heap_size"] == "700m"
    assert variables["additional_cluster_settings"] == {"a.b": 1}


def test_templates_are_in_the_order_of_bases_without_repetition(tmp_path: Path) -> None:
    folders = composed(tmp_path, "small", "buffers", "large").template_folders
    assert [folder.parent.name for folder in folders] == ["plain", "buffers"]


def test_a_mixin_without_a_base_needs_a_car(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--car: serial configures nothing: no car of it has a base"):
        composed(tmp_path, "serial")


def test_plugins_add_templates_variables_and_hooks(tmp_path: Path) -> None:
    plugins = (PluginRequest("my-plugin", ("fast",)), PluginRequest("repository-s3"))
    composition = composed(tmp_path, "small", plugins=plugins, plugin_params={"mode": "slow"})
    assert composition.template_folders[-1].parent.name == "default"
    assert composition.plugin_variables == {"mode": "slow"}
    assert composition.installed_plugins == ("my-plugin",)
    assert [(hook.owner, hook.config_names) for hook in composition.hooks] == [("plugin repository-s3", None)]


def test_a_misspelt_parameter_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        composed(tmp_path, "small", car_params={"heap_sze": "1g"})
    assert caught.value.message == (
        '--car-params: no template and no hook reads "heap_sze" (did you mean "heap_size"?)'
    )
    assert caught.value.hint == "correct or omit it"
    with pytest.raises(UsageError, match="--plugin-params: no template and no hook reads"):
        composed(tmp_path, "small", plugins=(PluginRequest("repository-s3"),), plugin_params={"s3": 1})


def test_a_variable_that_only_a_hook_reads_is_known(tmp_path: Path) -> None:
    hook = (
        'def register(handler):\n    handler.register("post_install", lambda variables: variables["token"])\n'
    )
    root = write_team(tmp_path, {"cars/v1/plain/config.py": hook})
    composition = compose(root, CompositionRequest(cars=("small",), car_params={"token": "x"}))
    assert composition.variables["token"] == "x"
    assert [(each.owner, each.config_names) for each in composition.hooks] == [("car small", ("small",))]
