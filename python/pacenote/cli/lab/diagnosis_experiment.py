"""The experiment that tests advice: the race as it was, against the race with the advice."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from pacenote.cli.lab.experiment_check import RaceOptionCheck
from pacenote.cli.options.race_trust import unchecked_options, unchecked_text
from pacenote.cli.output.named_file import create_parents, opened_named_file
from pacenote.cli.output.race_options import race_options
from pacenote.errors import StoreError, UsageError
from pacenote.lab.experiment.given_options import UNCHECKED
from pacenote.lab.experiment.read_file import read_experiment
from pacenote.lab.experiment.toml_values import toml_table, toml_value
from pacenote.model.diagnosis import Diagnosis, RuleAdvice, RuleAnswer
from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.secrets import REDACTED
from pacenote.report.diagnosis import bound_conditions
from pacenote.units import format_change

BASELINE = "as-raced"
"""Name of the variant that repeats the race."""

_OF_ONE_RACE = ("user-tags", "effective-start-date")
"""Options by which other commands find a race."""

_BLOCKS = 10
_LOOKS = (5, 10)
_WIDTH = 110


def write_experiments(
    diagnosis: Diagnosis, record: RaceRecord, path: Path, only: str, check: RaceOptionCheck
) -> list[Path]:
    """Writes the experiment of the first advice, or of the rule `only`, to a file that ends in `.toml`; those
    of all advice to any other path, which is a folder. Returns the files.

    Raises UsageError if there is no advice with options, for an unknown rule, and for a race whose options
    are not known; StoreError if a file cannot be written or exists.
    """
    answers = [answer for answer in diagnosis.findings if not only or answer.id == only]
    chosen = [(answer, advice) for answer in answers for advice in answer.advice[:1] if advice.options]
    if not chosen:
        raise UsageError(_no_advice(diagnosis, only))
    is_file = path.suffix == ".toml"
    unchecked = unchecked_options(_repeated(record))
    texts = {
        path if is_file else path / f"{answer.id}.toml": experiment_text(answer, advice, record, unchecked)
        for answer, advice in (chosen[:1] if is_file else chosen)
    }
    for file, text in texts.items():
        # Checking an option may read a file that it names.
        if REDACTED not in text and not unchecked:
            read_experiment(text, file.stem, str(file), check)
    for file, text in texts.items():
        _write(file, text)
    return list(texts)


def experiment_text(
    answer: RuleAnswer, advice: RuleAdvice, record: RaceRecord, unchecked: Mapping[str, object] | None = None
) -> str:
    """Returns the file of the experiment that tests one piece of advice; with options of the race that are
    to be checked, it cannot be run. Raises UsageError.
    """
    if record.saturation is not None:
        raise UsageError(
            f"race {record.race_id} is a search by `saturate`, which an experiment cannot repeat",
            hint="`pacenote experiment init` writes a file to fill in",
        )
    unchecked = unchecked or {}
    lines = [
        line
        for text in (*_comments(answer, record), *_checks(record, unchecked))
        for line in textwrap.wrap(
            f"# {text}",
            _WIDTH,
            subsequent_indent="#   ",
            # A path or a name of an option stays whole.
            break_on_hyphens=False,
            break_long_words=False,
        )
    ]
    return "\n".join([
        *lines,
        *([f"{UNCHECKED} = {toml_value(list(unchecked))}"] if unchecked else []),
        "",
        f"question = {toml_value(f'Does it help to {single_line(advice.text)}?')}",
        'design = "pair"',
        f"blocks = {_BLOCKS}",
        f"looks = {toml_value(_LOOKS)}",
        f"primary = {toml_value([answer.metric])}",
        *toml_table("race", _repeated(record)),
        "",
        f"[variants.{BASELINE}]",
        *toml_table(f"variants.{answer.id}", advice.options),
        "",
    ])


def _repeated(record: RaceRecord) -> dict[str, object]:
    """Returns the options of a race that those of an experiment have, too. Raises UsageError."""
    return {name: value for name, value in race_options(record).items() if name not in _OF_ONE_RACE}


def _checks(record: RaceRecord, unchecked: Mapping[str, object]) -> Iterator[str]:
    """Yields what is to be checked before the file can be run."""
    if unchecked:
        yield unchecked_text(f"race {record.race_id}", unchecked)
        yield "Check them. If you trust them, delete the next line, with which the file is not run."


def _comments(answer: RuleAnswer, record: RaceRecord) -> Iterator[str]:
    yield single_line(f"{answer.id}: {answer.title}")
    yield single_line(f"found in race {record.race_id}: {answer.text}")
    if answer.largest_change is not None:
        change = format_change(answer.largest_change)
        yield f"expected: at most {change} of {answer.metric}{bound_conditions(answer)}"
    for expectation in answer.expected:
        yield f"expected: {expectation.figure} {expectation.direction} (now {expectation.now})"
    yield single_line(f"source: {answer.source}")


def _no_advice(diagnosis: Diagnosis, only: str) -> str:
    known = (*diagnosis.validity, *diagnosis.findings, *diagnosis.ruled_out, *diagnosis.not_applicable)
    answer = next((each for each in known if each.id == only), None)
    if only and answer is None:
        return f"--only: there is no rule '{only}'"
    if answer is not None:
        by_hand = "; ".join(answer.withheld) or "its advice is to be followed by hand"
        reason = f"fired: {by_hand}" if answer.is_fired else f"is {answer.state}: {answer.text}"
        return f"there is no experiment for {only}, which {reason}"
    return "there is no experiment to write: no rule that fired has advice with options of a race"


def _write(file: Path, text: str) -> None:
    try:
        create_parents(file)
        with opened_named_file(file, "x") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise StoreError(f"{file} exists already", hint="give another path to --write-experiment") from error
    except OSError as error:
        raise StoreError(f"{file} cannot be written: {error.strerror}") from error


def check_first(record: RaceRecord) -> str:
    """Returns a line that names the options in a written file for which it is not run; empty without any."""
    unchecked = unchecked_options(_repeated(record))
    advice = f"check them; if you trust them, delete its line `{UNCHECKED} = …`"
    return f"{unchecked_text(f'race {record.race_id}', unchecked)}: {advice}" if unchecked else ""


def lacks_secrets(file: Path) -> bool:
    """Returns whether a written file has hidden values, which are to be filled in."""
    return REDACTED in file.read_text("utf-8")
