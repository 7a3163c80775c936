"""Plans races of an experiment before the first one runs, so that a mistake does not cost a night."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pacenote.cli.lab.experiment_check import RaceOptionCheck, error_text
from pacenote.cli.parser import similar
from pacenote.compare.metrics import metric_keys
from pacenote.errors import EngineError, PacenoteError, TrackError, UsageError
from pacenote.lab.experiment.design import all_variants
from pacenote.lab.experiment.options import joined
from pacenote.lab.experiment.read_file import mistakes
from pacenote.model.custom_metrics import known_direction
from pacenote.model.experiment import COMPARING, Experiment, Variant
from pacenote.model.race_request import RaceRequest
from pacenote.race.dry_run import DryRun, dry_run
from pacenote.race.planning import load_race_track


def check_plans(
    experiment: Experiment, file: str, check: RaceOptionCheck, gated: Sequence[str] = ()
) -> tuple[str, ...]:
    """Plans a race of each variant as `pacenote race --dry-run` does, or, of combinations, of each level.

    Returns a warning for each variant whose engine will not start: its races are recorded as failed.
    Raises ExperimentFileError for variants that cannot be raced, such as those with an unknown car,
    UsageError for a metric in `primary` or of `--fail-on` (`gated`) that no race will have, and EngineError
    if no variant starts, or not the baseline of a comparison.
    """
    problems: list[tuple[Variant, str]] = []
    failures: dict[str, EngineError] = {}
    warnings: list[str] = []
    tasks: set[str] = set()
    declared = {each.key for each in experiment.quality}
    variants = _covering(all_variants(experiment))
    for variant in variants:
        try:
            plan = _planned(check.request(joined(experiment.race, variant.options)))
        except EngineError as error:
            failures[variant.name] = error
            warnings.append(f"races of {variant.name} will fail: {error_text(error)}")
        except PacenoteError as error:
            problems.append((variant, error_text(error)))
        else:
            tasks |= {task.name for step in plan.steps for task in step.tasks} if plan else set()
            declared |= set(plan.custom_metrics) if plan else set()
    if problems:
        raise mistakes(file, tuple(_placed(problems, len(variants))))
    baseline = variants[0].name
    if len(failures) == len(variants) or (experiment.design in COMPARING and baseline in failures):
        why = failures[baseline]
        raise EngineError(f"races of {baseline} will fail: {why.message}", hint=why.hint)
    if tasks:
        _check_metrics("primary", experiment.primary, tasks, declared)
        directed = [f"{each.key}:{each.task}" if each.task else each.key for each in experiment.quality]
        _check_metrics("quality", directed, tasks, declared)
        named = [name for name in gated if name.lower() != "primary"]
        _check_metrics("--fail-on", named, tasks, declared)
    return tuple(warnings)


def test_mode_warning(experiment: Experiment, check: RaceOptionCheck) -> tuple[str, ...]:
    """Returns a warning if races are in test mode, which may also be configured: they never count, so that
    there is no answer.
    """
    variants = _covering(all_variants(experiment))
    requests = (check.request(joined(experiment.race, one.options)) for one in variants)
    if not any(request.test_mode for request in requests):
        return ()
    return ("races in test mode are always void: they test the file, and the experiment has no answer",)


def _placed(problems: Sequence[tuple[Variant, str]], count: int) -> Iterator[tuple[int, str]]:
    """Yields each problem with its line; one that all `count` variants have is one of the whole file."""
    named: dict[str, list[Variant]] = {}
    for variant, text in problems:
        named.setdefault(text, []).append(variant)
    for text, variants in named.items():
        if len(variants) == count > 1:
            yield 0, text
        else:
            # Variants of the command line have no line.
            yield from ((one.line, text if one.line else f'"{one.name}": {text}') for one in variants)


def _planned(request: RaceRequest) -> DryRun | None:
    """Returns the plan of a race, or None if its track can be loaded, but not planned without its data."""
    try:
        return dry_run(request)
    except TrackError:
        load_race_track(request, None, lambda _: None)
        return None


def _covering(variants: Sequence[Variant]) -> Sequence[Variant]:
    """Returns the variants without those whose options all occur in others before them."""
    seen: set[str] = set()
    covering: list[Variant] = []
    for variant in variants:
        options = set(_single_options(variant))
        if not covering or not options <= seen:
            covering.append(variant)
        seen |= options
    return covering


def _single_options(variant: Variant) -> Iterator[str]:
    for name, value in variant.options.items():
        several = value.items() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        yield from (f"{name}={each!r}" for each in several)


def _check_metrics(given_as: str, names: Sequence[str], tasks: set[str], declared: set[str]) -> None:
    of_tasks, of_races = metric_keys()
    of_tasks |= declared
    for name in names:
        key, colon, task = name.partition(":")
        # What runners return is not known before the race, except for declared and usual names.
        is_known = key in of_tasks or known_direction(key) or (key in of_races and not colon)
        if not is_known:
            hint = similar(key, sorted(of_tasks | of_races)) or "such as throughput:TASK or p99:TASK"
            raise UsageError(f"{given_as}: there is no metric '{key}'", hint=hint)
        if colon and task not in tasks:
            hint = similar(task, sorted(tasks)) or f"its tasks are {', '.join(sorted(tasks))}"
            raise UsageError(f"{given_as}: the challenge has no task '{task}'", hint=hint)
