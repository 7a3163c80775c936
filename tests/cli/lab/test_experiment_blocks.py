"""As many blocks as the smallest change needs that an experiment is to see."""

import tomllib

import pytest

from pacenote.cli.lab import experiment_blocks, experiment_dry_run
from pacenote.lab.experiment.noise import StoredNoise
from pacenote.model.experiment import Experiment, Variant

FILE = """
detect = "2 %"
{more}
[race]
track = "http_logs"
[variants.a]
car = "1gheap"
[variants.b]
car = "2gheap"
"""


@pytest.fixture
def noise(monkeypatch):
    """Returns a function that sets the measured noise of a block."""

    def measured(spread, races=10, high=1.0):
        stored_noise = (
            None
            if spread is None
            else StoredNoise("throughput", races, spread, (0.0, high), has_same_options=True)
        )
        monkeypatch.setattr(experiment_blocks, "known_noise", lambda _experiment: stored_noise)

    return measured


class Warnings:
    """A console that keeps warnings."""

    def __init__(self):
        self.told = []

    def warning(self, text):
        self.told.append(text)


def planned(blocks):
    """The number of blocks that `detect = "2 %"` plans, at most this many, and the warnings."""
    experiment = Experiment(name="e", detect=0.02, blocks=blocks, variants=(Variant("a"), Variant("b")))
    console = Warnings()
    return experiment_blocks.with_planned_blocks(experiment, "[race]\n", console)[0].blocks, console.told


def test_the_number_of_blocks_follows_from_the_measured_noise(run, tmp_path, noise):
    noise(0.014)
    file = tmp_path / "ab.toml"
    file.write_text(FILE.format(more=""))
    code, out, err = run("experiment", "run", file, "--dry-run")
    assert (code, err) == (0, "")
    assert "14 races at most: 7 blocks of 2 races, 2 variants" in out
    noise(0.005)
    assert planned(40) == (5, [])


def test_a_noise_that_is_not_known_or_too_large_is_told(noise):
    noise(None)
    blocks, (warning,) = planned(40)
    assert blocks == 10
    assert "the noise of this workload is not known here, so that 10 blocks are planned" in warning
    noise(0.2)
    blocks, (warning,) = planned(12)
    assert blocks == 12
    assert "12 blocks, the most that the file allows, do not show a change by 2 %" in warning


def test_the_upper_end_of_a_noise_from_few_races_is_planned_with(run, tmp_path, noise, monkeypatch):
    noise(0.005, races=3, high=0.014)
    blocks, (warning,) = planned(40)
    assert blocks == 7
    assert "was measured with only 3 races, so that the upper end of its interval is planned with" in warning
    stored_noise = experiment_blocks.known_noise(None)
    monkeypatch.setattr(experiment_dry_run, "known_noise", lambda _experiment: stored_noise)
    file = tmp_path / "ab.toml"
    file.write_text(FILE.format(more=""))
    out = run("experiment", "run", file, "--dry-run")[1]
    assert "7 blocks will show a change of throughput by 1.9 % with a probability of 80 %" in out
    assert "because it is from only 3 races: 10 are needed" in out


def test_the_file_of_the_experiment_has_the_planned_number(noise):
    noise(0.014)
    given = 'detect = "2 %"\nblocks = 40\n\n[race]\ntrack = "t"\n'
    experiment = Experiment(name="e", detect=0.02, blocks=40, variants=(Variant("a"), Variant("b")))
    planned, text = experiment_blocks.with_planned_blocks(experiment, given, None)
    assert planned.blocks == 7
    assert tomllib.loads(text) == {"blocks": 7, "detect": "2 %", "race": {"track": "t"}}


def test_looks_have_a_planned_number_of_blocks(run, tmp_path):
    file = tmp_path / "ab.toml"
    file.write_text(FILE.format(more="blocks = 10\nlooks = [5, 10]"))
    code, _, err = run("experiment", "run", file, "--dry-run")
    assert code == 2
    assert 'detect plans the blocks of a design "pair" without looks and precision' in err
