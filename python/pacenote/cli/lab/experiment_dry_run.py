"""The plan of an experiment without running it: its races, its hours, and what it will be able to see."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.model.decoding import parse_toml
from pacenote.units import format_count, format_seconds, format_share

if TYPE_CHECKING:
    from pacenote.lab.experiment.noise import StoredNoise
    from pacenote.model.experiment import Experiment

_SHOWN_BLOCKS = 4
_RECENT = 20
_TOO_SMALL = "which does not suffice for a block of"


def show_plan(experiment: Experiment, console: Console) -> int:
    """Prints the planned races with their order and their expected hours, and returns 0."""
    console.result_lines("".join(f"{line}\n" for line in _lines(experiment)))
    return 0


def budget_warning(experiment: Experiment) -> str:
    """Returns that the budget does not suffice for a block, by earlier races; empty if it does."""
    from pacenote.lab.experiment.design import plan_races
    from pacenote.lab.experiment.start import with_seed

    races = plan_races(with_seed(experiment))
    text = _duration(experiment, len(races), sum(race.block == 1 for race in races))
    return text.rpartition("; ")[2] if _TOO_SMALL in text else ""


def _lines(experiment: Experiment) -> Iterator[str]:
    from pacenote.lab.experiment.design import all_variants, plan_races, race_names
    from pacenote.lab.experiment.progress import max_repeats
    from pacenote.lab.experiment.public_options import public_text
    from pacenote.lab.experiment.start import with_seed

    drawn = with_seed(experiment)
    races = plan_races(drawn)
    blocks = {race.block for race in races if race.block}
    yield f"{experiment.name}: {experiment.question or experiment.design}"
    yield (
        f"{format_count(len(races), 'race')} at most: {format_count(len(blocks), 'block')} of "
        f"{format_count(sum(race.block == 1 for race in races), 'race')}, "
        f"{format_count(len(race_names(experiment)), 'variant')}"
    )
    yield _duration(experiment, len(races), sum(race.block == 1 for race in races))
    repeats = format_count(max_repeats(races), "more race")
    yield f"{repeats} at most, if other programs or virtual machines disturb some so that they do not count"
    if text := _power(experiment):
        yield text
    yield f"every race: {public_text(experiment.race)}"
    for variant in all_variants(experiment):
        yield f"  {variant.name}: {public_text(variant.options) or 'nothing else'}"
    if experiment.seed is None:
        yield f"order: drawn for each run; that of `seed = {drawn.seed}` is:"
    if experiment.design == "duet":
        from pacenote.lab.experiment.halves import machine_halves

        for number, half in enumerate(machine_halves(), 1):
            yield f"half {number}: nodes on CPUs {half.node_cpus}, driver on CPUs {half.driver_cpus}"
    for block in sorted(blocks)[:_SHOWN_BLOCKS]:
        own = [race for race in races if race.block == block]
        yield f"block {block}: {', '.join(race.variant for race in own)}, seed {own[0].seed}"
    if len(blocks) > _SHOWN_BLOCKS:
        yield f"and {len(blocks) - _SHOWN_BLOCKS} more"


def _duration(experiment: Experiment, count: int, block: int) -> str:
    """Returns the expected time of all races, from earlier races of the same workload; `block` is the number
    of races of a block.
    """
    known = _earlier_seconds(experiment)
    budget = f"; the budget is {format_seconds(experiment.budget_s)}" if experiment.budget_s else ""
    if known is None:
        return f"duration: not known before the first race{budget}"
    # Both races of a duet run at the same time.
    per_race = (known + experiment.cool_down_s) / (2 if experiment.design == "duet" else 1)
    seconds = count * per_race
    if experiment.budget_s and experiment.budget_s < block * per_race:
        budget += f", {_TOO_SMALL} {format_seconds(round(block * per_race))}: only one is raced"
    hours = f" ({seconds / 3600:.1f} hours)" if seconds >= 3600 else ""
    return f"duration: about {format_seconds(round(seconds))}{hours}, from earlier races{budget}"


def _earlier_seconds(experiment: Experiment) -> float | None:
    """Returns the median seconds of the races of earlier experiments with this workload, or None. Those of a
    duet are its whole time, of which each race counts half.
    """
    from pacenote.errors import PacenoteError
    from pacenote.lab.experiment.noise import workload_digest
    from pacenote.lab.experiment.progress import ExperimentProgress
    from pacenote.store.experiment_store import ExperimentStore

    own = workload_digest(experiment.race)
    times: list[float] = []
    for folder in ExperimentStore().list():
        try:
            race = parse_toml(folder.text()).get("race")
            same = isinstance(race, dict) and workload_digest(race) == own
            progress = ExperimentProgress.of(folder.plan(), folder.journal()) if same else None
        except (PacenoteError, ValueError):
            continue
        if progress is not None:
            times += [progress.ends[race.number].seconds * (2 if race.half else 1) for race in progress.raced]
        if len(times) >= _RECENT:
            break
    return median(times) if times else None


def known_noise(experiment: Experiment) -> StoredNoise | None:
    """Returns the noise that was measured here for the workload of an experiment, or None."""
    from pacenote.lab.experiment.design import all_variants
    from pacenote.lab.experiment.machine import read_machine
    from pacenote.lab.experiment.noise import stored_noise
    from pacenote.lab.experiment.options import joined
    from pacenote.store.experiment_store import ExperimentStore

    options = joined(experiment.race, all_variants(experiment)[0].options)
    return stored_noise(ExperimentStore().noise(), options, experiment.primary, read_machine().host or "")


_SEEN = {
    "screening": "an effect of a factor on",
    "sweep": "that the best level differs in",
    "matrix": "that the best combination differs in",
}
"""What a design shows, if it is not a change."""


def _power(experiment: Experiment) -> str:
    """Returns what the experiment will be able to see, according to the noise that was measured here."""
    from pacenote.lab.experiment.planning import planned_effect
    from pacenote.model.experiment_result import ENOUGH_RACES

    # The noise of races that run at the same time was not measured.
    if experiment.design in ("noise", "duet"):
        return ""
    noise = known_noise(experiment)
    if noise is None:
        return (
            "power: not known; `pacenote experiment run noise` measures the noise of a workload on this host"
        )
    effect = planned_effect(experiment, noise.planned_with)
    if effect is None:
        return f"power: none; {format_count(experiment.blocks, 'block')} have no interval"
    low, high = (format_share(bound) for bound in noise.block_interval)
    other = "" if noise.has_same_options else ", measured with other options"
    if noise.races < ENOUGH_RACES:
        few = format_count(noise.races, "race")
        other += f"; the upper end counts, because it is from only {few}: {ENOUGH_RACES} are needed"
    what = _SEEN.get(experiment.design, "a change of")
    return (
        f"power: {format_count(experiment.blocks, 'block')} will show {what} {noise.label} by "
        f"{format_share(effect)} with a probability of 80 % "
        f"(noise of a block {format_share(noise.block_spread)}, {low.removesuffix(' %')} … {high}{other})"
    )
