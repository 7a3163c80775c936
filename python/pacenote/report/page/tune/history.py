"""The history of a search: which candidate raced in which block, and after which one it dropped out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from pacenote.model.printable import single_line, whole_line
from pacenote.model.tune import DEFAULT, Drop, TriedCandidate, TuneEvent, TuneResult
from pacenote.report.page.drawing import (
    Caption,
    Dot,
    DotForm,
    Drawing,
    DrawingRow,
    KeyEntry,
    Mark,
    MarkStyle,
    Stroke,
    Tick,
)
from pacenote.report.page.page import Block, PageCell, PageColumn, PageTable, RowGroup
from pacenote.report.page.tone import Tone
from pacenote.report.tune import ORIGINS, settings_text
from pacenote.units import format_count, format_number

_CANDIDATES, _RACES = "data-candidates", "data-search-races"
_MOST_ROWS = 40
_MOST_TICKS = 12
_FORMS: Mapping[str, DotForm] = {"valid": "disc", "suspect": "ring"}


class TuneHistory(Struct, frozen=True):
    """What happened in a search."""

    ends: tuple[TuneEvent, ...] = ()
    """Its races that have ended, in their order."""

    drops: tuple[tuple[int, Drop], ...] = ()
    """Which candidates dropped out, each with the last block before it."""


def tune_history(journal: Sequence[TuneEvent]) -> TuneHistory:
    """Returns what the journal of a search says about its races. Of a block that was raced again, only the
    second attempt counts.
    """
    ends: list[TuneEvent] = []
    drops: dict[int, tuple[int, Drop]] = {}
    block = 0
    for event in journal:
        if event.event == "ended" and event.outcome not in ("interrupted", "killed"):
            ends.append(event)
            block = max(block, event.block)
        elif event.event == "repeated":
            ends = [end for end in ends if end.block != event.block]
        for drop in event.dropped:
            drops[drop.candidate] = (event.block or block, drop)
    return TuneHistory(tuple(ends), tuple(drops.values()))


def history_blocks(result: TuneResult, history: TuneHistory) -> Iterator[Block]:
    """Yields the chart of the races, the candidates, and the races of the search."""
    blocks = max((end.block for end in history.ends), default=0)
    if blocks and result.candidates:
        yield _chart(result, history, blocks)
    yield _candidate_table(result, history)
    if history.ends:
        yield _race_table(result, history)


def _chart(result: TuneResult, history: TuneHistory, blocks: int) -> Drawing:
    drops = {drop.candidate: (block, drop) for block, drop in history.drops}
    shown = result.candidates[:_MOST_ROWS]
    rows = []
    for candidate in shown:
        own = [end for end in history.ends if end.candidate == candidate.number and end.block]
        marks = tuple(_marks(result, candidate, own, blocks, drops.get(candidate.number)))
        note, tone = _note(result, candidate, drops.get(candidate.number))
        rows.append(DrawingRow(_name(candidate), marks, note, tone, height_px=24))
    every = -(-blocks // _MOST_TICKS)
    ticks = tuple(Tick(_x(block, blocks), str(block)) for block in range(1, blocks + 1, every))
    raced = sum(1 for one in result.candidates if one.blocks)
    text = (
        f"{format_count(raced, 'candidate')} in {format_count(blocks, 'block')}, those that still raced at "
        "the end first. Changes are against the default; those of the best are too good, because they were "
        "chosen for them."
    )
    if len(shown) < len(result.candidates):
        text += f" The first {len(shown)} of {len(result.candidates)} are shown."
    key = (
        KeyEntry("accent", "valid race"),
        KeyEntry("accent", "suspect", "ring"),
        KeyEntry("wrong", "void or failed", "cross"),
        KeyEntry("quiet", "dropped out after this block", "line"),
    )
    return Drawing("history", "History of the search", text, _CANDIDATES, tuple(rows), ticks, "block", key)


def _x(block: int, blocks: int) -> float:
    return (block - 0.5) / blocks


def _marks(
    result: TuneResult,
    candidate: TriedCandidate,
    own: Sequence[TuneEvent],
    blocks: int,
    dropped: tuple[int, Drop] | None,
) -> Iterator[Mark]:
    style: MarkStyle = (
        "good" if candidate.number == result.winner else "" if candidate.number == DEFAULT else "accent"
    )
    if len(own) > 1:
        yield Stroke(_x(own[0].block, blocks), 0.5, _x(own[-1].block, blocks), 0.5, "quiet", is_thin=True)
    for end in own:
        counts = end.outcome == "raced" and end.objective is not None
        form: DotForm = _FORMS.get(end.verdict, "cross") if counts else "cross"
        value = "" if end.objective is None else f", {format_number(end.objective)}"
        title = f"block {end.block}: {end.verdict or end.outcome}{value}"
        yield Dot(_x(end.block, blocks), 0.5, "wrong" if form == "cross" else style, form, title)
    if dropped is not None:
        x = min(max(dropped[0], 0.5) / blocks, 1.0)
        yield Stroke(x, 0.1, x, 0.9, "quiet", title=whole_line(dropped[1].text))
        if not own:
            yield Caption(x, 0.5, " could not race", "start")


def _name(candidate: TriedCandidate) -> str:
    settings = single_line(settings_text(candidate.settings))
    return settings if candidate.number == DEFAULT else f"{candidate.number}: {settings}"


def _note(
    result: TuneResult, candidate: TriedCandidate, dropped: tuple[int, Drop] | None
) -> tuple[str, Tone]:
    change = (
        "" if candidate.change is None or candidate.number == DEFAULT else f"{candidate.change * 100:+.1f} %"
    )
    if candidate.number == result.winner:
        return f"{change} winner".strip(), "good"
    if dropped is not None:
        return f"{change} out".strip(), "quiet"
    return change or ("the default" if candidate.number == DEFAULT else ""), ""


def _candidate_table(result: TuneResult, history: TuneHistory) -> PageTable:
    last = {drop.candidate: block for block, drop in history.drops}
    limits = tuple(single_line(limit.metric) for limit in result.constraints)
    rows: list[tuple[PageCell | str, ...]] = []
    for candidate in result.candidates:
        state = single_line(candidate.dropped) or ("winner" if candidate.number == result.winner else "")
        rows.append((
            PageCell(str(candidate.number), candidate.number),
            ORIGINS[candidate.origin],
            single_line(settings_text(candidate.settings)),
            PageCell(str(candidate.blocks), candidate.blocks),
            PageCell(
                "" if candidate.change is None else f"{candidate.change * 100:+.1f} %", candidate.change
            ),
            *(PageCell("" if value is None else format_number(value), value) for value in candidate.limits),
            PageCell(str(last.get(candidate.number, "")), last.get(candidate.number)),
            PageCell(state, tone="good" if candidate.number == result.winner else ""),
        ))
    texts = {"From", "Settings", "State"}
    heads = ("Candidate", "From", "Settings", "Blocks", "Change", *limits, "Out after block", "State")
    columns = tuple(PageColumn(head, head not in texts) for head in heads)
    caption = f"All {format_count(len(rows), 'candidate')}; medians of the metrics with a limit"
    return PageTable(_CANDIDATES, caption, columns, (RowGroup("", tuple(rows)),), is_sortable=True)


def _race_table(result: TuneResult, history: TuneHistory) -> PageTable:
    limits = tuple(single_line(limit.metric) for limit in result.constraints)
    rows: tuple[tuple[PageCell | str, ...], ...] = tuple(
        (
            single_line(end.race_id),
            PageCell(str(end.candidate), end.candidate),
            PageCell(str(end.block), end.block),
            PageCell(end.verdict or end.outcome or "", tone=_tone(end)),
            PageCell("" if end.objective is None else format_number(end.objective), end.objective),
            *(
                PageCell("" if value is None else format_number(value), value)
                for value in (*end.limits, *[None] * (len(limits) - len(end.limits)))
            ),
        )
        for end in history.ends
    )
    heads = ("Race", "Candidate", "Block", "Verdict", single_line(result.objective.metric), *limits)
    columns = tuple(PageColumn(head, head not in ("Race", "Verdict")) for head in heads)
    caption = f"All {format_count(len(rows), 'race')} of the search in their order"
    return PageTable(_RACES, caption, columns, (RowGroup("", rows),), is_sortable=True, is_folded=True)


def _tone(end: TuneEvent) -> Tone:
    if end.outcome != "raced" or end.verdict == "void":
        return "wrong"
    return "doubtful" if end.verdict == "suspect" else ""
