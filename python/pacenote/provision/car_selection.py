"""Selects the car of a race: built-in or of a team repository, with the user's overrides."""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.errors import UsageError
from pacenote.model.car_options import CarOverrides
from pacenote.model.engine_options import EngineOptions
from pacenote.provision.car_rules import check_jvm_option, check_settings, check_variable
from pacenote.provision.cars import Car, compose_car
from pacenote.provision.jvm_options import merge_jvm_options
from pacenote.provision.team_cars import TeamTemplate, compose_team_car
from pacenote.teams.composition import CompositionRequest
from pacenote.teams.plugins import parse_plugins


def select_car(options: EngineOptions) -> Car:
    """Returns the car that the options select. A team repository must have been located.

    Raises UsageError and EngineError for what does not exist or cannot be composed.
    """
    team = options.team.located
    if team is None:
        if options.plugin_params:
            raise UsageError("--plugin-params needs a team repository", hint="add --team-repository=default")
        plugins = parse_plugins(options.plugins)
        configured = [plugin.name for plugin in plugins if plugin.configurations]
        if configured:
            raise UsageError(
                f"the configuration of plugin {configured[0]} needs a team repository",
                hint="add --team-repository=default",
            )
        car = compose_car(options.car, options.car_params)
        car = replace(car, plugins=tuple(plugin.name for plugin in plugins))
    else:
        car = compose_team_car(
            team,
            CompositionRequest(
                cars=options.car,
                car_params=options.car_params,
                plugins=parse_plugins(options.plugins),
                plugin_params=options.plugin_params,
            ),
        )
    return with_overrides(car, options.overrides)


def with_overrides(car: Car, overrides: CarOverrides) -> Car:
    """Returns the car with what the user has named one by one. Raises UsageError."""
    check_settings(overrides.settings, "--set")
    for option in overrides.jvm_options:
        check_jvm_option(option, "--jvm")
    for name in overrides.environment:
        check_variable(name)
    if car.template is not None:
        named = Car(
            settings=overrides.settings,
            jvm_options=overrides.jvm_options,
            environment=overrides.environment,
        )
        car = replace(car, template=replace(_team_template(car), overrides=named))
    return replace(
        car,
        settings={**car.settings, **overrides.settings},
        jvm_options=merge_jvm_options(car.jvm_options, overrides.jvm_options),
        environment={**car.environment, **overrides.environment},
    )


def _team_template(car: Car) -> TeamTemplate:
    assert isinstance(car.template, TeamTemplate)
    return car.template
