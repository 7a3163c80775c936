"""`pacenote compare`: whether the contender is better than the baseline, and how sure that is."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from pacenote.cli.console import Console
from pacenote.cli.gates.comparison import GateResult, gate_result, parse_gates
from pacenote.cli.gates.requirements import parse_requirements
from pacenote.cli.options import values
from pacenote.cli.options.metrics_store import add_store_option, store_client
from pacenote.cli.options.quality import add_quality_option, given_quality
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.output.page_file import IN_FOLDER, write_new_page, write_page_file
from pacenote.cli.output.report_file import check_report_file, check_report_size, write_report_file
from pacenote.cli.parser import EachGiven, Parser, Several
from pacenote.cli.program import program
from pacenote.errors import StoreError, UsageError, VoidRace
from pacenote.model.shell_command import NAME, shell_command, shell_words
from pacenote.store.race_store import RaceStore, check_home
from pacenote.system.paths import real_path

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.comparison import (
        ComparedRace,
        Comparison,
        ComparisonOptions,
        RaceGroup,
        RaceKey,
        RaceNoise,
    )
    from pacenote.report.screen.screen import Command
    from pacenote.store.experiment_store import ExperimentStore
    from pacenote.store.race_groups import FoundGroup

FORMATS = ("markdown", "csv", "csv-full", "json", "junit")

PAGE = "comparison.html"
"""The file of `--html` without a name, in the current folder."""

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}


def add_options(parser: Parser) -> None:
    """Adds the races, what decides, and Rally's report options."""
    references = (
        "ids of races, prefixes, 'latest', tag:KEY=VALUE or folders, separated by commas (\\, is a comma)"
    )
    parser.add_argument(
        "--baseline", required=True, metavar="RACES", type=_names, action=Several, help=references
    )
    parser.add_argument(
        "--contender",
        required=True,
        metavar="RACES",
        type=_names,
        action=EachGiven,
        help="the races to compare with them; each use of the option is a contender of its own",
    )
    parser.add_flag(
        "--mixed-sides",
        help="compare sides whose races differ in engine, car, options or track (default: refuse)",
        harmless=True,
    )
    parser.add_argument(
        "--primary",
        type=_names,
        action=Several,
        default=(),
        metavar="METRICS",
        help="metrics that decide: throughput:index-append,p99:term (default: those of the track, or of each "
        "task throughput, or p90 of latency if it has a target rate, and its error rate)",
        harmless=True,
    )
    add_quality_option(parser)
    parser.add_argument(
        "--smallest-effect",
        type=_percent,
        metavar="PERCENT",
        help="smallest change that matters (default: 3 for throughput, 5 for p50 and p90, 10 for p99)",
        harmless=True,
    )
    _add_gate_options(parser)
    add_store_option(parser)
    with parser.group("report"):
        _add_report_options(parser)


def _add_gate_options(parser: Parser) -> None:
    parser.add_argument(
        "--fail-on",
        metavar="WORD:METRIC",
        type=parse_gates,
        action=Several,
        help="exit with 3 if the word is said of a metric, or if it is void: worse:primary, "
        "probably-worse:p99:term, regression (the same as probably-worse), unclear, no-verdict, void or "
        "same; several by commas, or the option several times (default: never)",
        harmless=True,
    )
    parser.add_argument(
        "--require",
        metavar="NO-WORSE",
        type=parse_requirements,
        action=Several,
        help="exit with 3 unless it is shown that the metrics became worse by less than this: no-worse:5%%, "
        "or no-worse:5%%:p99:term (default: nothing)",
        harmless=True,
    )


def _add_report_options(parser: Parser) -> None:
    parser.add_argument(
        "--report",
        choices=("short", "full"),
        metavar="SIZE",
        help="short, the answer and the metrics that decide, or full, all metrics (default: short on a "
        "terminal, otherwise full)",
        harmless=True,
    )
    parser.add_argument(
        "--report-format",
        choices=FORMATS,
        metavar="FORMAT",
        help="markdown, csv with Rally's columns, csv-full with all, json or junit (default: markdown)",
        harmless=True,
    )
    parser.add_argument(
        "--report-numbers-align",
        choices=("right", "center", "left", "decimal"),
        default="decimal",
        help="how values are aligned: right, center, left or decimal (default: decimal)",
        harmless=True,
    )
    parser.add_argument(
        "--html",
        nargs="?",
        type=values.page_file,
        const=IN_FOLDER,
        metavar="FILE",
        help=f"write the comparison as a page to this file, or to {PAGE}, and print its path in place of the "
        "comparison",
    )
    parser.add_argument(
        "--show-in-report", help=argparse.SUPPRESS, harmless=True
    )  # Rally accepts and ignores it.
    parser.add_argument(
        "--report-file",
        type=values.output_file,
        help="also write the full comparison to this file: markdown is appended, other formats get a "
        "new file (default: none)",
    )


class _Contender(Struct, frozen=True):
    """A contender and its comparison with the baseline."""

    names: tuple[str, ...]
    """Its races, as given."""

    baseline: FoundGroup
    side: FoundGroup
    asked: ComparisonOptions
    comparison: Comparison
    gates: GateResult

    @property
    def title(self) -> str:
        """What names it among others."""
        return _joined(self.names)


def run(options: argparse.Namespace, console: Console) -> int:
    """Prints the comparisons, and returns 0, or 3 if `--fail-on` or `--require` says so. Raises
    PacenoteError.
    """
    check_report_size(options)
    options.report_file = check_report_file(options.report_file)
    store = RaceStore()
    check_home(store.home)
    contenders = _contenders(store, options, console)
    if options.html is not None:
        # The user has not given the names of several files.
        write = write_page_file if options.html and len(contenders) == 1 else write_new_page
        for path, contender in zip(_page_files(options.html, len(contenders)), contenders, strict=True):
            first = (contender.baseline.races[0], contender.side.races[0])
            write(path, _page(_with_merged(contender), options, first))
            console.result_lines(f"{path}\n")
    else:
        _show(contenders, options, console)
    for contender in contenders:
        of = f"{contender.title}: " if len(contenders) > 1 else ""
        for text in filter(None, (contender.gates.text, *contender.gates.warnings)):
            console.warning(f"{of}{text}")
    return VoidRace.exit_code if any(contender.gates.text for contender in contenders) else 0


def _contenders(store: RaceStore, options: argparse.Namespace, console: Console) -> list[_Contender]:
    """Returns all contenders, each compared with the baseline. Raises PacenoteError."""
    asked_for = list(dict.fromkeys(options.contender))
    groups = _groups(store, options, asked_for, console)
    baseline, *sides = _checked_sides(groups, allowed=options.mixed_sides)
    contenders = []
    for names, side in zip(asked_for, sides, strict=True):
        comparison, asked = _compared(store, baseline, side, options, len(sides))
        gates = gate_result(comparison, options.fail_on, options.require)
        contenders.append(_Contender(names, baseline, side, asked, comparison, gates))
    return contenders


def _checked_sides(sides: Sequence[FoundGroup], *, allowed: bool) -> list[FoundGroup]:
    """Returns the sides, which say if they are of several configurations. Raises UsageError unless that is
    allowed.
    """
    from pacenote.compare.side_configuration import mixed_configuration

    checked = []
    for at, side in enumerate(sides):
        name = "contender" if at else "baseline"
        mixed = mixed_configuration(side.races)
        text = f"the races of the {name} are of several configurations: {mixed}"
        if mixed and not allowed:
            raise UsageError(
                text, hint="give each configuration as a --contender of its own, or add --mixed-sides"
            )
        checked.append(replace(side, left_out=(*side.left_out, text)) if mixed else side)
    return checked


def comparison_page(store: RaceStore, baseline: Sequence[str], contender: Sequence[str]) -> str:
    """Returns the comparison of stored races as a page. Raises PacenoteError."""
    from pacenote.store.race_groups import find_group

    names = tuple(contender)
    options = argparse.Namespace(
        baseline=baseline, contender=(names,), primary=(), quality=(), smallest_effect=None
    )
    old, new = _checked_sides([find_group(store, side) for side in (baseline, contender)], allowed=True)
    comparison, asked = _compared(store, old, new, options)
    compared = _Contender(names, old, new, asked, comparison, GateResult("", ()))
    return _page(_with_merged(compared), options, (old.races[0], new.races[0]))


def _compared(
    store: RaceStore,
    baseline: FoundGroup,
    contender: FoundGroup,
    options: argparse.Namespace,
    contenders: int = 1,
) -> tuple[Comparison, ComparisonOptions]:
    """Returns the comparison of both sides, one of so many contenders, and how they are compared: all
    comparisons together are wrong as seldom as one would be (Bonferroni), and so are all looks at an
    experiment that has not ended.
    """
    from pacenote.cli.lab.unfinished_experiments import unfinished_experiments
    from pacenote.compare.groups import compare_groups
    from pacenote.compare.quality import check_directions
    from pacenote.model.comparison import ComparisonOptions
    from pacenote.model.custom_metrics import quality_directions
    from pacenote.store.experiment_store import ExperimentStore

    experiments = ExperimentStore(store.home)
    unfinished = unfinished_experiments((*baseline.races, *contender.races), experiments)
    asked = ComparisonOptions(
        options.primary,
        options.smallest_effect,
        level=lambda alpha: min([alpha / contenders, *(one.level(alpha / contenders) for one in unfinished)]),
        noise=_noise(baseline.races, contender.races, experiments),
        quality=quality_directions(options.quality),
        names=store.short_ids([race_id for side in (baseline, contender) for race_id, _ in side.folders]),
        left_out=(*baseline.left_out, *contender.left_out),
    )
    comparison = compare_groups(baseline.races, contender.races, asked)
    if comparison.answer != "void":
        check_directions(given_quality(options), (each.metric for each in comparison.metrics))
    notes = [*baseline.renamed, *contender.renamed]
    if comparison.design != "one race each":
        notes += [each.note for each in unfinished]
        notes += [f"intervals and verdicts allow for {contenders} contenders"] if contenders > 1 else []
    return replace(comparison, notes=(*comparison.notes, *notes)), asked


def _groups(
    store: RaceStore, options: argparse.Namespace, contenders: Sequence[Sequence[str]], console: Console
) -> Sequence[FoundGroup]:
    """Returns the baseline and the contenders, also of races in a metrics store. Raises StoreError."""
    sides, client = (options.baseline, *contenders), store_client(options)
    if client is None:
        from pacenote.store.race_groups import find_group

        return [find_group(store, side) for side in sides]
    from pacenote.cli.metrics_store.comparison import find_groups

    return find_groups(sides, store, client, console)


def _noise(
    baseline: Sequence[ComparedRace], contender: Sequence[ComparedRace], store: ExperimentStore
) -> dict[str, RaceNoise]:
    """Returns the noise that `pacenote experiment` measured for the race of the baseline, if each side has
    one race, and both ran on the same host.
    """
    old, new = baseline[0].record, contender[0].record
    hosts = {record.environment.host_name for record in (old, new)}
    if len(baseline) + len(contender) > 2 or len(hosts) > 1 or None in hosts:
        return {}
    from pacenote.lab.experiment.noise import noise_key
    from pacenote.model.comparison import RaceNoise

    try:
        entry: Any = store.noise()[noise_key(old)]
        return {
            label: RaceNoise(float(one["spread"]), int(entry["races"]))
            for label, one in entry["metrics"].items()
        }
    except (StoreError, LookupError, TypeError, ValueError, AttributeError):
        return {}  # It was not measured, or cannot be read.


def _is_screen(options: argparse.Namespace, console: Console) -> bool:
    """Returns whether the short screen is printed."""
    on_terminal = console.shows_results_on_terminal and options.report_format is None
    return options.report == "short" or (on_terminal and options.report is None)


def _shows_merged(options: argparse.Namespace, console: Console) -> bool:
    """Returns whether the full comparison is written as Markdown or JSON."""
    is_written = options.report_file is not None or not _is_screen(options, console)
    return is_written and options.report_format in (None, "markdown", "json")


def _with_merged(contender: _Contender) -> Comparison:
    """Returns a comparison with the percentiles of all operations of each side, unless each is one race."""
    comparison = contender.comparison
    if comparison.design == "one race each":
        return comparison
    from pacenote.compare.merged import SideSeries, with_merged_percentiles
    from pacenote.evidence.driver_files import merged_series
    from pacenote.store.race_folder import RaceFolder

    def read(group: FoundGroup, compared: RaceGroup) -> SideSeries:
        by_key = {race.key: race for race in group.races}
        races = [by_key[each.key] for each in compared.races]
        return SideSeries(
            races, merged_series([RaceFolder(group.folders[race.key]).series for race in races])
        )

    sides = (read(contender.baseline, comparison.baseline), read(contender.side, comparison.contender))
    return with_merged_percentiles(comparison, sides, contender.asked)


def _names(text: str) -> tuple[str, ...]:
    names = values.escaped_list(text)
    if not names:
        raise UsageError("no race or metric is named", hint="separate several by commas")
    return names


def _percent(text: str) -> float:
    return values.above_zero(text.strip().removesuffix("%").strip()) / 100


def _show(contenders: Sequence[_Contender], options: argparse.Namespace, console: Console) -> None:
    """Prints the comparisons, and writes them to `--report-file`. Raises StoreError."""
    if _shows_merged(options, console):
        contenders = [replace(contender, comparison=_with_merged(contender)) for contender in contenders]
    if _is_screen(options, console):
        for contender in contenders:
            if len(contenders) > 1:
                console.result_lines(f"\n Contender {contender.title}\n\n")
            folders = {**contender.baseline.folders, **contender.side.folders}
            _show_screen(contender.comparison, _commands(contender.comparison, options, folders), console)
    else:
        console.result(_text(contenders, options))
    if options.report_file is not None:
        text = _text(contenders, options)
        written = write_report_file(options.report_file, text, options.report_format)
        if written != options.report_file:
            console.progress(f"the report is in {written}, because {options.report_file.name} has one")


def _page_files(name: str, count: int) -> Iterator[Path]:
    """Yields the file of each contender: with a number if there are several."""
    path = Path(name or PAGE)
    if count == 1 or path.name in ("", ".."):
        # A folder without a name gets no number: it cannot be written.
        yield from itertools.repeat(path, count)
    else:
        yield from (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in range(1, count + 1))


def _show_screen(comparison: Comparison, commands: list[Command], console: Console) -> None:
    from pacenote.report.render.screen import render_lines
    from pacenote.report.screen.comparison import comparison_lines

    out = console.rich_results()
    height = out.height - 2 if out.is_terminal else None
    render_lines(comparison_lines(comparison, commands, out.width, height), out)


def _commands(
    comparison: Comparison, options: argparse.Namespace, folders: Mapping[RaceKey, Path]
) -> list[Command]:
    from pacenote.report.screen.screen import Command

    same = " ".join(shell_words([*_arguments(options), "--report=full"]))
    commands = [Command(f"{program()} compare {same}", f"all {len(comparison.metrics)} metrics")]
    store = RaceStore()
    first = [side.races[0] for side in (comparison.baseline, comparison.contender)]
    # `pacenote diff` reads stored races only.
    if all(folders[race.key] == real_path(store.races / race.race_id) for race in first):
        short = map(store.short_id_maker(), [race.race_id for race in first])
        commands.append(
            Command(f"{program()} {shell_command('diff', *short)}", "what differs between the first races")
        )
    return commands


def _arguments(options: argparse.Namespace) -> list[str]:
    """Returns the arguments that make the same comparison."""
    arguments = [f"--baseline={_joined(options.baseline)}"]
    arguments += [f"--contender={_joined(names)}" for names in options.contender]
    if options.primary:
        arguments.append(f"--primary={_joined(options.primary)}")
    if options.quality:
        arguments.append(f"--quality={_joined(map(str, options.quality))}")
    if getattr(options, "mixed_sides", False):
        arguments.append("--mixed-sides")
    if options.smallest_effect is not None:
        arguments.append(f"--smallest-effect={options.smallest_effect * 100:g}")
    return arguments


def _page(
    comparison: Comparison, options: argparse.Namespace, first: tuple[ComparedRace, ComparedRace]
) -> str:
    """Returns the comparison as a page, which names the commands of the first race of each side."""
    from pacenote.cli.output.race_command import CHECK_FIRST, race_command
    from pacenote.report.page.comparison.build import ComparisonPageSources, build_comparison_page
    from pacenote.report.render.page import render_small_page
    from pacenote.version import pacenote_version

    commands = [(" ".join(shell_words([NAME, "compare", *_arguments(options)])), "compare these races again")]
    for race, side in zip(first, ("baseline", "contender"), strict=True):
        command, notes = race_command(race.record, NAME)
        if command:
            checks = [note for note in notes if note.startswith(CHECK_FIRST)]
            commands.append((command, "; ".join((f"run the first race of the {side} again", *checks))))
    sources = ComparisonPageSources(comparison, tuple(commands), pacenote_version() or "")
    return render_small_page(build_comparison_page(sources))


def _joined(names: Iterable[str]) -> str:
    """Returns names as an option has them."""
    return ",".join(name.replace(",", "\\,") for name in names)


def _text(contenders: Sequence[_Contender], options: argparse.Namespace) -> str:
    from pacenote.report.render import comparison as render

    comparisons = {each.title: each.comparison for each in contenders}
    if options.report_format in ("csv", "csv-full"):
        return render.render_comparisons_csv(comparisons, full=options.report_format == "csv-full")
    if options.report_format == "json":
        return render.render_comparisons_json(comparisons)
    if options.report_format == "junit":
        return _junit(contenders)
    return render.render_comparisons(comparisons, options.report_numbers_align)


def _junit(contenders: Sequence[_Contender]) -> str:
    from pacenote.report.render.comparison_junit import render_comparison_junit, render_suites, suite

    if len(contenders) > 1:
        suites = [
            suite(each.title, each.comparison, each.gates.failed, each.gates.warnings) for each in contenders
        ]
        return render_suites(suites, "pacenote compare")
    (only,) = contenders
    return render_comparison_junit(only.comparison, only.gates.failed, only.gates.warnings)
