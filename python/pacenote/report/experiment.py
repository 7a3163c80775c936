"""The result of an experiment as texts and tables: the answer, what it rests on, and what is next."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator

from msgspec import Struct, field

from pacenote.model.alike_findings import in_one_sentence, sentence_key
from pacenote.model.comparison import CLAIM, Comparison, MetricComparison, MetricId
from pacenote.model.experiment import COMPARING, OUT_OF_BUDGET, PAIRED
from pacenote.model.experiment_result import ENOUGH_RACES, CellValue, ExperimentResult, VariantResult
from pacenote.model.finding import Finding
from pacenote.model.opposite_medians import opposite_median_notes
from pacenote.model.printable import single_line, whole_line
from pacenote.model.shell_command import shell_command
from pacenote.report.comparison_rows import (
    backlog_footnote,
    change_text,
    detectable_text,
    interval_text,
    marked_name,
)
from pacenote.report.comparison_texts import (
    block_count,
    change_of,
    main_metric,
    metric_name,
    named_answer,
    races_needed,
    races_text,
    trust_text,
)
from pacenote.report.machine_changes import machine_change_texts
from pacenote.report.quality_texts import quality_text
from pacenote.units import format_change, format_count, format_number, format_seconds, format_share

_AGAIN = "remove what limits the answer, and run a new experiment"
_BAR = 24
_MAX_BLOCKS = 6
_SHOWN_BLOCKS = 10
"""Number of blocks for which a noise experiment states what is seen."""


class TextTable(Struct, frozen=True):
    """A table of texts."""

    title: str
    """What it shows."""

    headers: tuple[str, ...]
    """The headers of its columns."""

    rows: tuple[tuple[str, ...], ...]
    """Its rows."""


class ExperimentReport(Struct, frozen=True):
    """The result of an experiment for people."""

    title: str
    """The question, with the id of the experiment."""

    answers: tuple[str, ...]
    """The answer, one sentence for each contender, each followed by what it rests on."""

    tables: tuple[TextTable, ...]
    """The figures."""

    notes: tuple[str, ...]
    """What else is worth knowing."""

    next: tuple[str, ...]
    """What to do next."""

    limits: tuple[str, ...] = ()
    """What limits the answer, and what went wrong."""


def build_experiment_report(result: ExperimentResult) -> ExperimentReport:
    """Returns the report of a result."""
    return ExperimentReport(
        title=single_line(f"{result.experiment_id}: {result.question or result.design}"),
        answers=tuple(_answers(result)),
        tables=tuple(table for table in _tables(result) if table.rows),
        limits=tuple(map(whole_line, (*_common_limits(result), *_findings(result)))),
        notes=tuple(map(single_line, _notes(result))),
        next=tuple(_next(result)),
    )


def _answers(result: ExperimentResult) -> Iterator[str]:
    if not result.races_done:
        yield "No answer yet: no race has ended."
        return
    if result.design in PAIRED:
        for variant in result.variants:
            if variant.comparison is not None:
                yield from _pair_answer(result, variant, variant.comparison)
            elif variant.name != result.baseline:
                reason = "its races failed" if variant.failure else "it has no race to compare yet"
                yield f"No answer for {variant.name}: {reason}."
    elif result.design == "ladder":
        yield from _ladder_answer(result)
    elif result.design == "noise":
        yield from _noise_answer(result)
    elif result.design == "screening":
        yield from _screening_answer(result)
    else:
        yield from _region_answer(result)


def _pair_answer(result: ExperimentResult, variant: VariantResult, comparison: Comparison) -> Iterator[str]:
    answer = named_answer(comparison, variant.name, result.baseline)
    yield f"{answer[0].upper()}{answer[1:]}."
    main = main_metric(comparison)
    if main is not None and comparison.answer != "void":
        yield f"  {metric_name(main)}: {change_of(main)}, from {races_text(comparison, main)}"
        seen = detectable_text(main.change)
        power = f"; a change of {seen} would have been seen" if seen else ""
        yield f"  can it be trusted? {_trust(result, comparison)}{power}"
    else:
        yield f"  can it be trusted? {_trust(result, comparison)}"


def _trust(result: ExperimentResult, comparison: Comparison) -> str:
    """Returns whether an answer can be trusted, and how many of the limits concern it."""
    return trust_text(comparison, len(tuple(_common_limits(result))))


def _ladder_answer(result: ExperimentResult) -> Iterator[str]:
    steps = result.variants[1:]
    kept = [step.name for step in steps if step.adopted]
    dropped: dict[str, list[str]] = {}
    for step in steps:
        if step.adopted is False:
            dropped.setdefault(_why_dropped(step), []).append(step.name)
    reached = next((step.cumulative for step in reversed(steps) if step.adopted and step.cumulative), None)
    undecided = [step.name for step in steps if step.adopted is None]
    best = " + ".join((result.variants[0].name, *kept))
    start = result.variants[0].name
    gain = f", {format_change(reached - 1)} against {start}" if reached else ""
    confirmed = _main(result, result.confirmation)
    if result.confirmation is not None and confirmed is not None:
        blocks = races_text(result.confirmation, confirmed)
        yield f"Best: {best}."
        yield f"  against {start}: {confirmed.word}, {change_of(confirmed)}, from {blocks} of their own"
        yield f"  can it be trusted? {_trust(result, result.confirmation)}"
    else:
        yield f"Best so far: {best}{gain}." if undecided else f"Best: {best}{gain}."
    for reason, names in dropped.items():
        yield f"  {reason}: {', '.join(names)}"
    if undecided:
        yield f"  still to race: {', '.join(undecided)}"


def _why_dropped(step: VariantResult) -> str:
    """Returns why a step of a ladder is not kept."""
    if step.comparison is None:
        return "not decided, because races failed"
    if step.comparison.answer == "void":
        return "not decided, because the races must not be compared"
    return "without an effect that was shown, so not kept"


def _noise_answer(result: ExperimentResult) -> Iterator[str]:
    main = next((one for one in result.noise if one.metric == result.main_metric), None)
    if main is None:
        yet = " yet" if _so_far(result) else ""
        yield f"No answer{yet}: a spread needs 3 races that count, and four fifths of all must."
        return
    yield f"{_name(main.metric)} varies by {_percent(main.spread)} from race to race ({main.races} races)."
    seen = dict(main.detectable)
    low, high = map(_percent, main.block_interval)
    yield f"  the noise of a block is {_percent(main.block_spread)} ({low.removesuffix(' %')} … {high})"
    yield (
        f"  with {_SHOWN_BLOCKS} blocks of two variants, a change of {_percent(seen[_SHOWN_BLOCKS])} is seen "
        f"here with a probability of 80 %; with 5, one of {_percent(seen[5])}"
    )
    if limits := len(tuple(_common_limits(result))):
        yield f"  can it be trusted? with care: {format_count(limits, 'reason')} below"


def _screening_answer(result: ExperimentResult) -> Iterator[str]:
    if not any(one.change for one in result.effects):
        yield "No answer: the effects of the factors are not known."
        return
    decided = [one for one in result.effects if one.word not in ("unclear", "no verdict", "same")]
    so_far = _so_far(result)
    if not decided:
        yield f"No factor has an effect that was shown{so_far}."
        return
    names = [f"{one.factor}={one.high} ({one.word}, {change_text(one.change)})" for one in decided]
    yield f"Factors that matter for {_name(result.main_metric)}{so_far}: {', '.join(names)}."
    yield "  effects of single factors; race the chosen ones against the baseline in a pair to confirm them"


def _region_answer(result: ExperimentResult) -> Iterator[str]:
    best = next((cell for cell in result.cells if cell.is_best), None)
    if best is None or best.value is None:
        yield "No answer: no configuration has races that count."
        return
    unit = result.main_metric.unit if result.main_metric else ""
    yield (
        f"Best{_so_far(result)}: {best.name}, {_name(result.main_metric)} {format_number(best.value)} "
        f"{unit}, from {format_count(best.races, 'race')}."
    )
    own = next((variant.comparison for variant in result.variants if variant.name == best.name), None)
    metric = own and result.main_metric and own.metric(result.main_metric)
    if metric:
        yield f"  against {result.baseline}: {metric.word}, {change_of(metric)}"
    if own and own.worse_quality:
        yield f"  but {quality_text(own)}"
    if region := [cell.name for cell in result.cells if cell.in_best_region and not cell.is_best]:
        yield f"  not shown to be worse: {', '.join(region)}"
    if worse := [cell.name for cell in result.cells if not cell.in_best_region and not _is_lost(cell)]:
        yield f"  shown to be worse: {', '.join(worse)}"


def _so_far(result: ExperimentResult) -> str:
    """Returns what follows a statement that may still change."""
    return " so far" if result.state in ("unfinished", "running") else ""


def _is_lost(cell: CellValue) -> bool:
    return cell.value is None or cell.is_void or cell.is_left_out


def _tables(result: ExperimentResult) -> Iterator[TextTable]:
    if result.design == "ladder":
        yield _ladder_table(result)
    elif result.cells:
        yield _cell_table(result)
    elif result.effects:
        rows = tuple(
            (one.factor, one.low, one.high, change_text(one.change), interval_text(one.change), one.word)
            for one in result.effects
        )
        headers = ("Factor", "From", "To", "Change", "Interval", "Verdict")
        yield TextTable(f"Effects on {_name(result.main_metric)}", headers, rows)
    elif result.noise:
        yield _noise_table(result)
    if result.design in PAIRED:
        for variant in result.variants:
            if variant.comparison is not None:
                yield _pair_table(result.baseline, variant.name, variant.comparison)


def _pair_table(baseline: str, contender: str, comparison: Comparison) -> TextTable:
    rows = tuple(_metric_row(each) for each in comparison.deciding)
    headers = ("Metric", "Task", baseline, contender, "Unit", "Change", "Interval", "Verdict")
    return TextTable(f"{contender} against {baseline}: primary metrics", headers, rows)


def _metric_row(metric: MetricComparison) -> tuple[str, ...]:
    return (
        marked_name(metric),
        single_line(metric.metric.task),
        format_number(metric.baseline_value),
        format_number(metric.contender_value),
        single_line(metric.metric.unit),
        change_text(metric.change),
        interval_text(metric.change),
        metric.word,
    )


def _ladder_table(result: ExperimentResult) -> TextTable:
    highest = max((step.cumulative or 0.0 for step in result.variants), default=0.0)
    rows = []
    for step in result.variants:
        main = _main(result, step.comparison)
        kept = {True: "kept", False: "not kept", None: ""}[step.adopted]
        word = main.word if main else step.failure and "failed"
        change = main.change if main else None
        total = "" if step.cumulative is None else f"{step.cumulative:.3f}"
        rows.append((
            step.name,
            change_text(change),
            interval_text(change),
            word or "",
            kept,
            total,
            _bar(step.cumulative, highest),
        ))
    headers = ("Step", "Change", "Interval", "Verdict", "Kept", "Cumulative", "")
    return TextTable(f"Steps, each on the best before it: {_name(result.main_metric)}", headers, tuple(rows))


def _cell_table(result: ExperimentResult) -> TextTable:
    unit = f" in {result.main_metric.unit}" if result.main_metric else ""
    title = f"Mean {_name(result.main_metric)}{unit}"
    if len(result.factors) == 2:
        (first, rows), (second, columns) = result.factors
        by_levels = {cell.levels: cell for cell in result.cells}
        table = tuple((row, *(_cell_text(by_levels[row, column]) for column in columns)) for row in rows)
        return TextTable(title, (f"{first} \\ {second}", *columns), table)
    highest = max((cell.value or 0.0 for cell in result.cells), default=0.0)
    comparisons = {variant.name: variant.comparison for variant in result.variants}
    table = tuple(
        (
            cell.name,
            _cell_text(cell),
            *_against(result, comparisons.get(cell.name)),
            _bar(cell.value, highest),
        )
        for cell in result.cells
    )
    headers = ("Levels", "Mean", f"Against {result.baseline}", "Interval", "Verdict", "")
    return TextTable(title, headers, table)


def _against(result: ExperimentResult, comparison: Comparison | None) -> tuple[str, str, str]:
    main = _main(result, comparison)
    return (change_text(main.change), interval_text(main.change), main.word) if main else ("", "", "")


def _main(result: ExperimentResult, comparison: Comparison | None) -> MetricComparison | None:
    """Returns the metric of a comparison that the tables show."""
    return comparison.metric(result.main_metric) if comparison and result.main_metric else None


def _cell_text(cell: CellValue) -> str:
    if cell.value is None:
        return "lost" if cell.lost else ""
    if cell.is_void:
        return f"{format_number(cell.value)} void"
    if cell.is_left_out:
        return f"{format_number(cell.value)} left out"
    mark = " *" if cell.is_best else " ~" if cell.in_best_region else ""
    return f"{format_number(cell.value)}{mark}"


def _noise_table(result: ExperimentResult) -> TextTable:
    rows = tuple(
        (
            one.metric.name,
            single_line(one.metric.task),
            format_number(one.mean),
            single_line(one.metric.unit),
            _percent(one.spread),
            *(_percent(effect) for _, effect in one.detectable),
        )
        for one in result.noise
    )
    blocks = tuple(f"{count} blocks" for count, _ in result.noise[0].detectable)
    headers = ("Metric", "Task", "Mean", "Unit", "Spread", *blocks)
    return TextTable(
        "Spread from race to race, and the change that n blocks see in 80 % of the cases", headers, rows
    )


def _common_limits(result: ExperimentResult) -> Iterator[str]:
    """Yields what limits all answers of an experiment."""
    for cell in result.cells:
        if cell.is_void:
            of = format_count(cell.races + cell.lost, "race")
            yield f"{cell.name} cannot be the best: {cell.lost} of {of} failed or must not be compared"
        elif cell.is_left_out:
            yield f"{cell.name} cannot be the best: it was not raced to the end"
    for text in machine_change_texts(result.machine_changes):
        yield f"the machine changed while the experiment ran: {text}"
    for variant in result.variants:
        if variant.failure:
            end = "; it was not raced from then on" if variant.is_left_out else ""
            of = format_count(variant.failed + variant.races, "race")
            yield f"{variant.name} failed in {variant.failed} of {of}: {variant.failure}{end}"
    void = dict.fromkeys(race_id for variant in result.variants for race_id in variant.void_races)
    if void:
        names = ", ".join(void)
        yield f"{format_count(len(void), 'void race')} left out with the others of the block: {names}"
    if (few := _few_races(result)) is not None:
        yield (
            f"only {format_count(few, 'race')}: {ENOUGH_RACES} are needed, so that what is seen is stated "
            "for the upper end of the interval of the noise"
        )
    yield from result.notes


def _few_races(result: ExperimentResult) -> int | None:
    """Returns the number of races of the noise that is shown, if they are too few to plan with it."""
    races = min((one.races for one in result.noise), default=ENOUGH_RACES)
    return races if races < ENOUGH_RACES else None


def _findings(result: ExperimentResult) -> Iterator[str]:
    """Yields what limits single comparisons, with the contender that it concerns if there are others."""
    comparisons = {one.name: one.comparison for one in result.variants if one.comparison}
    if result.confirmation:
        comparisons["the best against the start"] = result.confirmation
    concerned: dict[Hashable, _Reason] = {}
    for name, comparison in comparisons.items():
        for single_finding in comparison.findings:
            # Otherwise it costs single blocks.
            is_void = single_finding.makes_doubtful and comparison.answer in ("void", "partly void")
            reason = concerned.setdefault((is_void, sentence_key(single_finding)), _Reason(is_void))
            reason.findings.append(single_finding)
            reason.names[name] = None
    for reason in concerned.values():
        finding = in_one_sentence(reason.findings)
        text = f"void: {finding}" if reason.is_void else str(finding)
        yield text if len(reason.names) == len(comparisons) else f"{', '.join(reason.names)}: {text}"


class _Reason(Struct):
    """What limits comparisons, in one sentence."""

    is_void: bool
    """Whether it makes them void."""

    findings: list[Finding] = field(default_factory=list)
    """What the comparisons say, which differs in numbers and races only."""

    names: dict[str, None] = field(default_factory=dict)
    """The contenders that it concerns, in their order."""


def _notes(result: ExperimentResult) -> Iterator[str]:
    if result.cells:
        yield "* is the best; ~ is not shown to be worse; words allow for the number of configurations"
    if result.state == "ended early":
        yield f"ended early: {result.reason}"
    for group in result.aliases:
        pairs = ", ".join(" × ".join(pair) for pair in group)
        yield f"interactions that cannot be told apart: {pairs}"
    for race in result.repeated:
        yield f"{race.race_id} ({race.variant}, block {race.block}) was repeated: {race.reason}"
    yield from _opposite_medians(result)
    if result.design in PAIRED:
        comparisons = [variant.comparison for variant in result.variants if variant.comparison]
        footnotes = (backlog_footnote(each, each.deciding) for each in comparisons)
        yield from filter(None, dict.fromkeys(footnotes))
    if result.design == "duet":
        yield "both raced at the same time, each on half of the machine, which is slower than all of it"
    if result.order and result.design in COMPARING:
        shown = [" ".join(block) for block in result.order[:_MAX_BLOCKS]]
        more = " | …" if len(result.order) > _MAX_BLOCKS else ""
        named = "on the first and the second half" if result.design == "duet" else "order"
        yield f"{named}: {' | '.join(shown)}{more}"
    yield (
        f"{result.races_done} of {format_count(result.races_planned, 'race')} in "
        f"{format_seconds(round(result.seconds))}"
    )


def _opposite_medians(result: ExperimentResult) -> Iterator[str]:
    """Yields why the medians of a table of primary metrics move the other way than their change."""
    compared = [one for one in result.variants if one.comparison] if result.design in PAIRED else []
    for variant in compared:
        assert variant.comparison is not None
        comparison = variant.comparison
        named = f"{variant.name}: " if len(compared) > 1 else ""
        for note in opposite_median_notes(comparison.deciding, is_paired=comparison.design == "paired"):
            yield f"{named}{note}"


def _next(result: ExperimentResult) -> Iterator[str]:
    resume, report = (
        shell_command("pacenote", "experiment", action, result.experiment_id)
        for action in ("resume", "report")
    )
    if result.state == "unfinished":
        reason = f" ({result.paused})" if result.paused else ""
        more = " --budget=TIME" if result.paused.startswith(OUT_OF_BUDGET) else ""
        yield f"not final, because races are left{reason}: {resume}{more}"
        return
    if result.state == "running":
        yield f"not final, because it is running; again: {report}"
        return
    if left_out := [variant for variant in result.variants if variant.is_left_out]:
        ids = [variant.failed_race for variant in left_out if variant.failed_race]
        how = (
            f" ({', '.join(shell_command('pacenote', 'report', race_id) for race_id in ids)})" if ids else ""
        )
        yield f"find out why races fail{how}; after a change of the file, run it as a new experiment"
    if result.retryable:
        names = ", ".join(result.retryable)
        yield f"to try {names} again: {resume}"
    gained = [step.name for step in result.variants[1:] if step.adopted]
    if result.design == "ladder" and gained and result.confirmation is None:
        names = " + ".join((result.variants[0].name, *gained))
        yield (
            "the cumulative gain is a product of estimates that were kept because they were good: race "
            f"{names} against {result.variants[0].name} in a pair before you claim it"
        )
    if result.design in PAIRED:
        compared = (variant.comparison for variant in result.variants)
        yield from dict.fromkeys(text for one in compared if one and (text := _advice(result, one)))
    elif result.is_void:
        yield _AGAIN
    elif _few_races(result) is not None:
        yield f"run a new experiment with blocks = {ENOUGH_RACES}, before others are planned from it"
    if result.races_done:
        yield f"all metrics: {report} --report-format=json"


def _advice(result: ExperimentResult, comparison: Comparison) -> str:
    """Returns what to do next about one contender. The number of blocks is planned before the first race:
    adding some to an experiment that is not clear would find differences where there are none.
    """
    if comparison.answer in ("void", "partly void"):
        return _AGAIN
    if comparison.answer in ("unclear", "no verdict", "probably better", "probably worse"):
        needed = races_needed(comparison)
        if needed is None:
            blocks = f"blocks = {CLAIM}" if block_count(comparison) < CLAIM else "more blocks"
            return (
                "reduce what varies between the races, such as other programs on the machine, run a new "
                f"experiment with {blocks}, or ask for a larger change with smallest-effect"
            )
        return (
            f"a new experiment with blocks = {needed} would probably show whether the change is as large as "
            "what matters"
        )
    if block_count(comparison) < CLAIM and result.state == "complete":
        return f"before you claim it, run a new experiment with blocks = {CLAIM}"
    return ""


def _name(metric: MetricId | None) -> str:
    if metric is None:
        return "the main metric"
    short = "throughput" if metric.key == "throughput" else metric.name
    return f"{short} of {single_line(metric.task)}" if metric.task else short


def _percent(share: float) -> str:
    return "∞" if math.isinf(share) else format_share(share)


def _bar(value: float | None, highest: float) -> str:
    if value is None or highest <= 0:
        return ""
    return "█" * max(1, round(value / highest * _BAR))
