"""Plans the number of blocks of an experiment from the smallest change that it is to see (`detect`)."""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.cli.console import Console
from pacenote.cli.lab.experiment_dry_run import known_noise
from pacenote.lab.experiment.planning import blocks_to_see, planned_effect
from pacenote.lab.experiment.read_file import DEFAULT_BLOCKS
from pacenote.lab.experiment.toml_lines import without_tables
from pacenote.model.experiment import Experiment
from pacenote.model.experiment_result import ENOUGH_RACES
from pacenote.units import format_count


def with_planned_blocks(experiment: Experiment, text: str, console: Console) -> tuple[Experiment, str]:
    """Returns the experiment with as many blocks as `detect` needs, and its file with that number. Says so if
    the noise is not known, or if the blocks that the file allows are too few.
    """
    if experiment.detect is None:
        return experiment, text
    noise = known_noise(experiment)
    if noise is None:
        planned = replace(experiment, blocks=min(experiment.blocks, DEFAULT_BLOCKS[experiment.design]))
        console.warning(
            "detect: the noise of this workload is not known here, so that "
            f"{planned.blocks} blocks are planned; `pacenote experiment run noise` measures it"
        )
    else:
        if noise.races < ENOUGH_RACES:
            few = format_count(noise.races, "race")
            console.warning(
                f"detect: the noise of this workload was measured with only {few}, so that the upper end of "
                "its interval is planned with; `pacenote experiment run noise` with at least "
                f"{ENOUGH_RACES} blocks measures it better"
            )
        blocks = blocks_to_see(experiment, noise.planned_with, experiment.detect)
        planned = replace(experiment, blocks=blocks)
        seen = planned_effect(planned, noise.planned_with)
        if seen is None or seen > experiment.detect:
            console.warning(
                f"detect: {format_count(blocks, 'block')}, the most that the file allows, do not show a "
                f"change by {experiment.detect * 100:g} % with a probability of 80 %"
            )
    return planned, f"blocks = {planned.blocks}\n{without_tables(text, ('blocks',))}"
