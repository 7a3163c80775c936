"""What the command line changes in the file of an experiment."""

import tomllib

import pytest

from pacenote.cli.console import Console
from pacenote.cli.lab.experiment_check import RaceOptionCheck
from pacenote.errors import UsageError
from pacenote.lab.experiment.given_options import lines_of_file, with_given_options, with_given_quality

FILE = """\
question = "?"
blocks = 10
looks = [5, 10]

[race] # all
track = "http_logs"
track-params = {docs = 1, "a b" = [true, {c = 1.5}]}

[variants.a]
[variants.b]
car = "4gheap"
"""


def test_directions_of_the_command_line_replace_those_of_the_file():
    own = f'quality = ["recall=neutral"]\n{FILE}'
    given = ["recall=higher", "distance:knn=lower"]
    for text in (own, FILE):
        changed = tomllib.loads(with_given_quality(text, given, is_default=False))
        assert changed == {**tomllib.loads(FILE), "quality": given}
    # Those that are configured are defaults, which a noise experiment does not take.
    assert with_given_quality(own, given, is_default=True) == own
    assert tomllib.loads(with_given_quality(FILE, given, is_default=True))["quality"] == given
    noise = 'design = "noise"\n'
    assert with_given_quality(noise, given, is_default=True) == noise


@pytest.fixture
def given(tmp_path, monkeypatch):
    """Returns the contents of a changed file."""
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path))
    check = RaceOptionCheck(Console(), tmp_path)

    def changed(blocks=None, text=FILE, **track_params):
        return tomllib.loads(with_given_options(text, "f.toml", blocks, track_params, check))

    return changed


def test_without_options_the_file_is_kept():
    assert with_given_options(FILE, "f.toml", None, {}, None) == FILE


@pytest.mark.parametrize(
    ("blocks", "looks"), [(20, [5, 10, 20]), (10, [5, 10]), (7, [5, 7]), (5, None), (3, None)]
)
def test_looks_end_with_the_last_block(given, blocks, looks):
    options = given(blocks)
    assert (options["blocks"], options.get("looks")) == (blocks, looks)


def test_parameters_of_the_track_are_added(given):
    own = tomllib.loads(FILE)
    own["race"]["track-params"] |= {"docs": 2, "new": 'say "é"'}
    assert given(docs=2, new='say "é"') == own


def test_they_are_added_to_a_text_and_to_nothing(given):
    text = '[race]\ntrack-params = "docs:1,bulk_size:5"\n'
    assert given(text=text, docs=2) == {"race": {"track-params": {"docs": 2, "bulk_size": 5}}}
    assert given(text="", docs=2) == {"race": {"track-params": {"docs": 2}}}


def test_what_toml_does_not_have_is_told(given):
    with pytest.raises(UsageError, match="None cannot be written to the file of an experiment"):
        given(docs=None)


def test_a_changed_file_has_the_lines_of_what_is_left_of_it():
    lines = lines_of_file(FILE, with_given_options(FILE, "f.toml", 5, {"docs": 2}, None))
    assert lines["race", "track"] == 6
    assert lines["variants", "b"] == 10
    assert ("blocks",) not in lines
    assert ("looks",) not in lines
