"""The report of a race as an HTML page: reads what the race folder has, and writes the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.cli.output.page_file import add_page_file, write_page_file
from pacenote.errors import PacenoteError, StoreError, UsageError
from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.shell_command import NAME, shell_command, shell_words
from pacenote.store.own_folder import check_page_folder
from pacenote.store.race_folder import RaceFolder
from pacenote.system.paths import is_file

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.saturation import SaturationResult
    from pacenote.model.snapshot import RaceSnapshot
    from pacenote.report.page.race.build import PageSources
    from pacenote.report.race_evidence import RaceEvidence


def write_page(record: RaceRecord, folder: RaceFolder, file: str, console: Console) -> None:
    """Writes the page of a race or a saturation, and prints its path. Raises StoreError."""
    if not file:
        check_page_folder(folder.path)
    text = page_text(record, folder, None, is_running=folder.is_in_use())
    path = Path(file) if file else folder.page
    if file:
        write_page_file(path, text)
    else:
        folder.write_page(text)
    console.result_lines(f"{path}\n")


def add_page(folder: Path, evidence: RaceEvidence | None, console: Console) -> None:
    """Writes the page of a race that has just ended to its folder; a failure is a warning. `evidence` is what
    was already read about the race, if anything.
    """
    race = RaceFolder(folder)
    if not is_file(race.race_json):
        return

    def write() -> Path:
        # The stored record has no secrets.
        race.write_page(page_text(race.read(), race, evidence, is_running=False))
        return race.page

    add_page_file(write, "race", console)


def page_text(
    record: RaceRecord, folder: RaceFolder, evidence: RaceEvidence | None, *, is_running: bool
) -> str:
    """Returns the page of a race or a saturation. A complete race without a diagnosis is diagnosed."""
    from pacenote.report.render.race_page import render_race_page

    saturation = folder.read_saturation()
    if saturation is not None:
        return _saturation_text(saturation, record)
    return render_race_page(page_sources(record, folder, evidence, is_running=is_running))


def _saturation_text(result: SaturationResult, record: RaceRecord) -> str:
    """Returns the page of a search for the highest rate."""
    from pacenote.lab.saturation_curve import fitted_curve
    from pacenote.report.page.saturation.build import SaturationPageSources, build_saturation_page
    from pacenote.report.render.page import render_small_page
    from pacenote.version import pacenote_version

    commands = ((f"{shell_command(NAME, 'report', result.race_id)} --report-format=json", "all its figures"),)
    sources = SaturationPageSources(
        result,
        record,
        fitted_curve(result),
        (*_search_command(result, record), *commands),
        pacenote_version() or "",
    )
    return render_small_page(build_saturation_page(sources))


def _search_command(result: SaturationResult, record: RaceRecord) -> Iterator[tuple[str, str]]:
    """Yields the command that searches again, as far as the result states it."""
    from pacenote.cli.options.race_trust import unchecked_options, unchecked_text
    from pacenote.cli.output.race_options import race_options
    from pacenote.lab.experiment.options import arguments

    try:
        options = dict(race_options(record))
    except UsageError:
        return
    known: dict[str, object] = {"task": result.task, "seed": record.seed}
    own = known if record.given_options is not None else dict(_search_options(result, record))
    words = shell_words(arguments({**options, **own}))
    unchecked = unchecked_text(f"race {record.race_id}", unchecked_options(options))
    purpose = f"search again; check first: {unchecked}" if unchecked else "search again"
    yield " \\\n  ".join((f"{NAME} saturate", *words)), purpose


def _search_options(result: SaturationResult, record: RaceRecord) -> Iterator[tuple[str, object]]:
    """Yields the options of a search by an earlier version, as far as the result states them."""
    limits = ",".join(f"p{limit.q:g}:{limit.ms:g}ms" for limit in result.objective.latency)
    given: dict[str, object] = {
        "task": result.task,
        "objective": limits,
        "max-error-rate": f"{result.objective.error_rate * 100:g}",
        "max-connections": result.connections,
        "probe-time": f"{result.window_s:g}",
        "probe-warmup": f"{result.warmup_s:g}",
        "precision": f"{result.precision * 100:g}",
        "seed": record.seed,
        "sweep-clients": max((level.clients for level in result.levels), default=0),
    }
    yield from ((name, value) for name, value in given.items() if value != "")


def page_sources(
    record: RaceRecord, folder: RaceFolder, evidence: RaceEvidence | None, *, is_running: bool
) -> PageSources:
    """Returns what the page of a race shows. A complete race without a diagnosis is diagnosed."""
    from pacenote.cli.output.race_command import race_command
    from pacenote.cli.output.race_findings import defect, race_diagnosis, race_profiles
    from pacenote.cli.output.report_output import as_reported, race_location
    from pacenote.evidence.race_observations import race_observations
    from pacenote.report.page.race.build import PageSources
    from pacenote.report.page.race.machine import WANTED
    from pacenote.report.recording.hot_methods import ProfileCollector

    reported, state, _ = as_reported(record, folder.path, is_running=is_running)
    problem, collector = "the race is not complete", ProfileCollector()
    diagnosis = evidence.diagnosis if evidence else None
    if diagnosis is None and state == "complete":
        try:
            diagnosis = race_diagnosis(folder.path, collector)
        except PacenoteError as error:
            problem = error.message
        except Exception as error:  # The race has been measured: its results are shown in any case.
            problem = single_line(defect(error))
    profiles = evidence.profiles if evidence else race_profiles(record, folder.path, collector)
    command, notes = race_command(record, NAME)
    return PageSources(
        record=reported,
        location=race_location(folder.path, state),
        observed=evidence.observed if evidence else race_observations(record, folder, WANTED),
        snapshot=_snapshot(folder),
        diagnosis=diagnosis,
        diagnosis_problem=problem,
        profiles=profiles,
        command=command,
        command_notes=notes,
    )


def _snapshot(folder: RaceFolder) -> RaceSnapshot | None:
    try:
        return folder.read_snapshot()
    except StoreError:
        return None
