"""`pacenote trend`: where the metrics of a track changed over its races, and whether one became worse."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.cli.options import values
from pacenote.cli.options.data import duration
from pacenote.cli.options.metrics_store import add_store_option
from pacenote.cli.options.quality import add_quality_option, given_quality
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.output.page_file import IN_FOLDER, write_new_page, write_page_file
from pacenote.cli.output.report_file import check_report_file, write_report_file
from pacenote.cli.parser import Parser, Several
from pacenote.cli.program import program
from pacenote.errors import UsageError, VoidRace
from pacenote.model.shell_command import shell_command
from pacenote.store.race_store import RaceStore, check_home

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.comparison import MetricWord
    from pacenote.model.trend import Trend
    from pacenote.report.screen.screen import Command
    from pacenote.store.race_groups import FoundGroup

FORMATS = ("text", "json", "csv")

PAGE = "trend.html"
"""The file of `--html` without a name, in the current folder."""

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}

_ACCEPT = "accept"
_DRIFT = "drift"
_GATE_WORDS: Mapping[str, tuple[MetricWord, ...]] = {
    "regression": ("worse", "probably worse"),
    "probably-worse": ("worse", "probably worse"),
    "worse": ("worse",),
}
"""Words of `--fail-on`, and the verdicts on a regression that they include."""

_GATES_HINT = f"{', '.join(_GATE_WORDS)} or {_DRIFT}, or several by commas"
_FILTERS = ("track", "challenge", "user_tags", "from_date", "to_date")
_MAX_RACES = 100
_READ_BACK = 1000
"""Number of races that are read at most: among those that are not shown, regressions may have begun."""

_NEW_RACES = 10
_NAMED = 5
_FILE_WIDTH = 100
"""Columns of the text in a file."""


def add_options(parser: Parser) -> None:
    """Adds which races and metrics to look at, what is new, and when to fail."""
    parser.add_argument(
        "races",
        nargs="*",
        default=(),
        metavar="RACES",
        help="ids of races, prefixes, tag:KEY=VALUE or folders (default: the races that have the track and "
        f"the configuration of the newest one); after the word {_ACCEPT}, their regressions are accepted",
    )
    parser.add_argument(
        "--reason",
        metavar="TEXT",
        help=f"why `{_ACCEPT}` accepts the regressions, stored as annotations",
        harmless=True,
    )
    parser.add_argument("--track", help="look at races of this track")
    parser.add_argument("--challenge", help="look at races of this challenge", harmless=True)
    parser.add_argument(
        *("--user-tags", "--user-tag"),
        dest="user_tags",
        type=values.tags,
        default={},
        help="look at races with these tags (k:v,k2:v2)",
        harmless=True,
    )
    parser.add_argument(
        "--from-date", type=values.day, help="look at no race before this day (yyyyMMdd)", harmless=True
    )
    parser.add_argument(
        "--to-date", type=values.day, help="look at no race after this day (yyyyMMdd)", harmless=True
    )
    parser.add_argument(
        "--last",
        type=values.positive,
        default=_MAX_RACES,
        metavar="COUNT",
        help=f"maximum number of races, the newest ones (default: {_MAX_RACES})",
        harmless=True,
    )
    _add_judging_options(parser)
    add_store_option(parser)
    _add_report_options(parser)


def _add_report_options(parser: Parser) -> None:
    with parser.group("report"):
        parser.add_argument(
            "--report-format",
            choices=FORMATS,
            metavar="FORMAT",
            help="text, json or csv (default: text)",
            harmless=True,
        )
        parser.add_argument(
            "--report-file",
            type=values.output_file,
            help="also write the report to this file, in its format (default: none)",
        )
        parser.add_argument(
            "--html",
            nargs="?",
            type=values.page_file,
            const=IN_FOLDER,
            metavar="FILE",
            help=f"write the trend as a page to this file, or to {PAGE}, and print its path in place of the "
            "trend",
        )


def _add_judging_options(parser: Parser) -> None:
    """Adds the metrics, and what a regression is."""
    parser.add_argument(
        "--metrics",
        type=_names,
        action=Several,
        default=(),
        help="metrics to look at: throughput:index-append,p99:term (default: those that decide comparisons)",
        harmless=True,
    )
    parser.add_argument(
        "--smallest-effect",
        type=_percent,
        metavar="PERCENT",
        help="smallest change that matters (default: 3 for throughput, 5 for p50 and p90, 10 for p99)",
        harmless=True,
    )
    add_quality_option(parser)
    parser.add_argument(
        "--new-races",
        type=values.positive,
        default=_NEW_RACES,
        metavar="COUNT",
        help=f"a change is new if it was not found yet so many races ago (default: {_NEW_RACES})",
        harmless=True,
    )
    parser.add_argument(
        "--since",
        type=values.day,
        metavar="DAY",
        help="only what was not found before this day is new, and a regression (yyyyMMdd)",
        harmless=True,
    )
    parser.add_argument(
        "--max-age",
        type=duration,
        metavar="TIME",
        help="the newest race may be so old, as 36h; with an older one, --fail-on fails (default: any age)",
        harmless=True,
    )
    parser.add_argument(
        "--fail-on",
        type=_gates,
        action=Several,
        default=(),
        metavar="WHAT",
        help="exit with 3 on a regression (regression, or probably-worse), on one that is more than probable "
        "(worse), or only on a drift that becomes worse (drift), and if the newest races cannot be used; "
        "several by commas (default: never)",
        harmless=True,
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Prints the trend, and returns 0, or 3 if `--fail-on` says so. Raises PacenoteError."""
    if options.html is not None and options.report_format and options.report_file is None:
        raise UsageError("--html takes the place of the report", hint="--report-format needs --report-file")
    accepts = tuple(options.races[:1]) == (_ACCEPT,)
    if accepts != (options.reason is not None):
        raise UsageError(
            f"--reason and the word {_ACCEPT} belong together", hint=f"pacenote trend {_ACCEPT} --reason=TEXT"
        )
    options.races = options.races[accepts:]
    options.report_file = check_report_file(options.report_file)
    store = RaceStore()
    check_home(store.home)
    trend = _trend(store, options, console)
    if accepts:
        from pacenote.cli.trend_acceptance import accept

        return accept(trend, options, store.home, console)
    if options.html is not None:
        path = Path(options.html or PAGE)
        (write_page_file if options.html else write_new_page)(path, _page(trend))
        console.result_lines(f"{path}\n")
    else:
        _show(trend, options, console)
    if options.report_file is not None:
        _write(trend, options, console)
    return _exit_code(trend, options.fail_on, console)


def _trend(store: RaceStore, options: argparse.Namespace, console: Console) -> Trend:
    """Returns the trend that the options ask for. Raises UsageError and StoreError."""
    from pacenote.cli.trend_acceptance import accepted_with_store
    from pacenote.compare.trend import find_trend
    from pacenote.model.trend import TrendOptions

    group = _found(store, options)
    for text in group.renamed:
        console.warning(text)
    age = options.max_age
    asked = TrendOptions(
        metrics=options.metrics,
        smallest_effect=options.smallest_effect,
        quality=options.quality,
        checked_quality=given_quality(options),
        last=options.last,
        new_races=options.new_races,
        since=options.since,
        not_before=None if age is None else datetime.now(UTC) - timedelta(seconds=age),
        accepted=accepted_with_store(store.home, options, console),
        names=store.short_ids(race.record.race_id for race in group.races),
        left_out=group.left_out,
        damaged=group.damaged,
    )
    return find_trend(group.races, asked)


def trend_page(store: RaceStore, race_id: str) -> str:
    """Returns a page with the trend of the races that have the track and the configuration of this one, as
    `--html` writes it. Raises PacenoteError.
    """
    from pacenote.cli.trend_acceptance import accepted_regressions
    from pacenote.compare.trend import find_trend
    from pacenote.model.trend import TrendOptions
    from pacenote.store.race_index import RaceFilter
    from pacenote.store.track_races import find_track_races

    group = find_track_races(store, RaceFilter(limit=_READ_BACK), like=race_id)
    left_out = list(group.left_out)
    asked = TrendOptions(
        last=_MAX_RACES,
        accepted=accepted_regressions(store.home, left_out.append),
        names=store.short_ids(race.record.race_id for race in group.races),
        left_out=tuple(left_out),
        damaged=group.damaged,
    )
    return _page(find_trend(group.races, asked))


def _found(store: RaceStore, options: argparse.Namespace) -> FoundGroup:
    """Returns the races to look at. Raises UsageError and StoreError."""
    if options.races:
        from pacenote.store.race_groups import find_group

        given = next((name for name in _FILTERS if getattr(options, name)), None)
        if given is not None:
            raise UsageError(
                f"--{given.replace('_', '-')} does not select among races that are named",
                hint="name the races, or select them by options",
            )
        return find_group(store, options.races)
    from pacenote.store.race_index import RaceFilter
    from pacenote.store.track_races import find_track_races

    return find_track_races(
        store,
        RaceFilter(
            limit=max(options.last, _READ_BACK),
            track=options.track,
            challenge=options.challenge,
            from_date=options.from_date,
            to_date=options.to_date,
            user_tags=options.user_tags,
        ),
    )


def _names(text: str) -> tuple[str, ...]:
    names = values.escaped_list(text)
    if not names:
        raise UsageError("no metric is named", hint="separate several by commas")
    return names


def _percent(text: str) -> float:
    return values.above_zero(text.strip().removesuffix("%").strip()) / 100


def _gates(text: str) -> tuple[str, ...]:
    gates = values.escaped_list(text)
    if not gates or not set(gates) <= {*_GATE_WORDS, _DRIFT}:
        raise UsageError(f"--fail-on cannot be '{text}'", hint=_GATES_HINT)
    return gates


def _exit_code(trend: Trend, gates: Sequence[str], console: Console) -> int:
    """Returns the exit code, and says why a gate fires, or cannot fire yet."""
    from pacenote.model.messages import list_with_rest
    from pacenote.report.trend import answer_text

    if not gates:
        return 0
    failed = list(dict.fromkeys(_failed(trend, gates)))
    unusable = list(_unusable(trend))
    if failed:
        console.warning(f"--fail-on: {list_with_rest(failed, _NAMED)}")
    for text in unusable:
        console.warning(f"--fail-on: {text}")
    if failed or unusable:
        return VoidRace.exit_code
    if trend.answer == "too few races":
        console.warning(f"--fail-on cannot fail yet: {answer_text(trend).removeprefix('not known: ')}")
    return 0


def _failed(trend: Trend, gates: Sequence[str]) -> Iterator[str]:
    """Yields for which metrics a gate fires."""
    if trend.earlier is not None:
        yield from (f"{text} in the races before" for text in _failed(trend.earlier, gates))
    words = {word for gate in gates for word in _GATE_WORDS.get(gate, ())}
    for metric, change in trend.regressions:
        if change.word in words:
            yield f"{metric.metric.label} is {change.word}"
    if words or _DRIFT in gates:
        for metric_trend in trend.metrics:
            if metric_trend.drift is not None and metric_trend.drift.is_regression:
                yield f"{metric_trend.metric.label} drifts and becomes worse"


def _unusable(trend: Trend) -> Iterator[str]:
    """Yields why nothing is known of the newest races; a gate does not hold without them."""
    from pacenote.model.messages import list_with_rest

    if trend.newest_unusable:
        yield trend.newest_unusable
    missing = [each.metric.label for each in trend.metrics if each.is_missing]
    if missing:
        verb = "does" if len(missing) == 1 else "do"
        yield f"{list_with_rest(missing, _NAMED)} {verb} not count in the newest race"


def _show(trend: Trend, options: argparse.Namespace, console: Console) -> None:
    """Prints the trend: as text if a file gets it, otherwise in its format."""
    if options.report_file is None and options.report_format not in (None, "text"):
        console.result(_text(trend, options.report_format))
    else:
        _show_lines(trend, console)


def _write(trend: Trend, options: argparse.Namespace, console: Console) -> None:
    """Writes the trend to `--report-file`. Raises StoreError."""
    text = _text(trend, options.report_format or "text")
    written = write_report_file(options.report_file, text, options.report_format or "text")
    if written != options.report_file:
        console.progress(f"the report is in {written}, because {options.report_file.name} has one")


def _show_lines(trend: Trend, console: Console) -> None:
    from pacenote.report.render.screen import render_lines
    from pacenote.report.screen.trend import trend_lines

    out = console.rich_results()
    render_lines(trend_lines(trend, _commands(trend), out.width), out)


def _text(trend: Trend, report_format: str) -> str:
    from pacenote.report.render import trend as render

    if report_format == "json":
        return render.render_trend_json(trend)
    if report_format == "csv":
        return render.render_trend_csv(trend)
    from pacenote.report.screen.text import plain_text
    from pacenote.report.screen.trend import trend_lines

    return plain_text(trend_lines(trend, _commands(trend), _FILE_WIDTH))


def _page(trend: Trend) -> str:
    from pacenote.report.page.trend.build import TrendPageSources, build_trend_page
    from pacenote.report.render.page import render_small_page
    from pacenote.version import pacenote_version

    commands = tuple((command.text, command.purpose) for command in _commands(trend))
    return render_small_page(build_trend_page(TrendPageSources(trend, commands, pacenote_version() or "")))


def _commands(trend: Trend) -> list[Command]:
    """Returns what to enter next: about the newest change or, without one, about the newest race."""
    from pacenote.report.screen.screen import Command

    if trend.answer == "earlier regression" and trend.earlier is not None:
        return _commands(trend.earlier)
    if not trend.events:
        last = shell_command("report", trend.races[-1].name)
        return [Command(f"{program()} {last}", "the newest race")]
    event = trend.events[-1]
    before, after = (trend.races[number].name for number in (event.before, event.after))
    commands = [
        Command(f"{program()} {shell_command('diff', before, after)}", "all that differs"),
        Command(f"{program()} {shell_command('diagnose', after, before)}", "what makes the difference"),
    ]
    if trend.answer in ("regression", "earlier regression"):
        commands.append(Command(f"{program()} trend {_ACCEPT} --reason=WHY", "if it is meant to be"))
    return commands
