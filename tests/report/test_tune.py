"""The last screen of a search: one answer, what it rests on, and what is next."""

from functools import cache

import pytest
from msgspec.structs import replace

from compare.races import blocks, compared
from pacenote.compare.groups import compare_groups
from pacenote.model.comparison import ComparisonOptions
from pacenote.model.experiment_result import VariantResult
from pacenote.model.tune import Constraint, LimitResult, TriedCandidate, TuneObjective, TuneResult
from pacenote.report.tune import build_tune_report
from report.test_experiment import result as experiment_result

LIMIT = Constraint("p99:term", "<", 50.0)
TRIED = (
    TriedCandidate(3, {"heap": "2g", "codec": "default"}, "drawn", 5, 0.0812, (40.0,)),
    TriedCandidate(0, {}, "default", 5, 0.0, (41.5,)),
    TriedCandidate(7, {"heap": "512m"}, "suggested", 0, None, (None,), "no\nheap"),
)


def found(**changes):
    own = {
        "tune_id": "tune-1",
        "objective": TuneObjective("throughput:index-append"),
        "constraints": (LIMIT,),
        "metric": main_metric(confirmation().variants[1].comparison).metric,
        "answer": "better",
        "reason": "one candidate is left",
        "winner": 3,
        "settings": TRIED[0].settings,
        "options": ('--car-params={"heap_size": "2g"}', "--set=index.codec=default"),
        "limits": (LimitResult(LIMIT, 40.0, 43.0, "kept"),),
        "confirmation": confirmation(),
        "candidates": TRIED,
        "races": 30,
        "seconds": 300.0,
        "budget_s": 600.0,
    }
    return TuneResult(**own | changes)


def main_metric(comparison):
    return next(each for each in comparison.primary if each.metric.key == "throughput")


@cache
def confirmation():
    sides = [compared(*side) for side in blocks(6, 1.08, noise=0.001)]
    options = ComparisonOptions(primary=("p99-latency:term", "throughput:index-append"))
    variants = (VariantResult("default", 6), VariantResult("winner", 6, compare_groups(*sides, options)))
    return experiment_result(experiment_id="tune-1-confirm-1", variants=variants, blocks=6)


def text(result):
    report = build_tune_report(result)
    tables = [" ".join(cell) for table in report.tables for cell in (table.headers, *table.rows)]
    return "\n".join([report.title, *report.answers, *tables, *report.notes, *report.next])


def test_a_confirmed_winner_has_its_settings_its_change_and_options_to_copy():
    shown = text(found())
    assert shown.startswith("tune-1: throughput:index-append, p99:term < 50 ms\n")
    assert "Better than the default, confirmed: heap 2g, codec default.\n" in shown
    assert "  throughput of index-append: +" in shown
    assert "from 6 blocks of fresh races" in shown
    assert "limit p99:term < 50 ms: kept; 40, at most 43 ms" in shown
    assert """pacenote race '--car-params={"heap_size": "2g"}' --set=index.codec=default …""" in shown
    assert "pacenote experiment report tune-1-confirm-1" in shown
    assert "the search ended: one candidate is left" in shown
    assert "which of them matter is not known" in shown
    assert "which of them" not in text(found(settings={"heap": "2g"}))
    changed = replace(confirmation(), machine_changes=("kernel 1 → 2",))
    assert "the machine changed meanwhile: kernel 1 → 2" in text(found(confirmation=changed))
    assert "40 races in 67 min 5 s, of a budget of 10 min" in shown


def with_objective(**changes):
    """Returns a result whose objective changed otherwise."""
    old = confirmation()
    baseline, winner = old.variants
    comparison = winner.comparison
    metrics = tuple(
        replace(each, **changes) if each.metric.key == "throughput" else each for each in comparison.metrics
    )
    variants = (baseline, replace(winner, comparison=replace(comparison, metrics=metrics)))
    return replace(old, variants=variants)


def test_a_probable_winner_is_called_probable_with_the_reason():
    change = replace(
        main_metric(confirmation().variants[1].comparison).change, value=0.036, low=0.004, high=0.07
    )
    probable = with_objective(word="probably better", change=change)
    shown = text(found(answer="probably better", confirmation=probable))
    assert "Probably better than the default, but perhaps by less than what matters: heap 2g," in shown
    assert "Better than the default, confirmed" not in shown
    assert "use it: pacenote race" in shown
    assert "which of them matter is not known" in shown
    # A significant estimate of a small change is biased away from none.
    assert "the change is barely shown: on average, such estimates are too large" in shown
    assert "barely" not in text(found())


def test_the_table_of_the_search_says_that_it_is_no_claim():
    report = build_tune_report(found())
    assert [table.title for table in report.tables] == [
        "Confirmation: the winner against the default, in fresh races",
        "Search: what was tried. Changes of the best are too good: see the confirmation",
    ]
    assert report.tables[1].rows == (
        ("3", "drawn", "heap 2g, codec default", "5", "+8.1 %", "40", "winner"),
        ("0", "the default", "the default", "5", "+0.0 %", "41.5", ""),
        ("7", "optimiser", "heap 512m", "0", "", "", "no heap"),
    )
    many = tuple(replace(TRIED[1], number=number) for number in range(15))
    assert "3 more candidates: --report-format=json has them" in text(found(candidates=many))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            "not shown",
            "No setting was shown to be better: keep the default. (The search preferred heap 2g, codec",
        ),
        ("limit broken", "Keep the default: heap 2g, codec default breaks a limit."),
        ("default", "Keep the default: the search found nothing better."),
        ("void", "No answer: one candidate is left."),
        ("none yet", "No answer yet: one candidate is left."),
    ],
)
def test_every_other_answer_keeps_the_default(answer, words):
    shown = text(found(answer=answer))
    assert words in shown
    assert "use it:" not in shown
    assert ("pacenote tune resume tune-1" in shown) == (answer in ("none yet", "void"))


def test_a_void_confirmation_shows_the_options_of_the_winner_and_how_it_is_confirmed_again():
    shown = text(found(answer="void", earlier_confirmations=("tune-1-confirm-1: the disk was full",)))
    assert "  The search preferred heap 2g, codec default, which is not confirmed: '--car-params=" in shown
    assert "confirm the winner again, in fresh races: pacenote tune resume tune-1\n" in shown
    assert "confirmed again, after tune-1-confirm-1: the disk was full" in shown


def test_a_default_that_breaks_a_limit_is_told():
    assert "the default itself" not in text(found())
    slow = replace(TRIED[1], limits=(55.0,))
    shown = text(found(candidates=(slow,)))
    assert "the default itself breaks the limit p99:term < 50 ms: 55 ms" in shown


def test_a_search_without_races_has_no_tables_and_no_answer():
    report = build_tune_report(
        found(
            answer="none yet",
            reason="",
            winner=None,
            confirmation=None,
            limits=(),
            candidates=(),
            settings={},
        )
    )
    assert (report.answers, report.tables) == (("No answer yet.",), ())


def test_limits_from_below_and_limits_that_are_not_kept():
    limit = LimitResult(Constraint("throughput:index", ">", 100.0), 105.0, 95.0, "unclear")
    assert "limit throughput:index > 100: not shown to be kept; 105, at least 95" in text(
        found(limits=(limit,))
    )


def test_a_search_that_runs_is_not_called_abandoned():
    shown = text(found(answer="none yet", is_running=True))
    assert "not final, because it is running: this is its state so far" in shown
    assert "pacenote tune resume" not in shown


def test_time_beyond_the_budget_and_changes_of_the_machine_during_the_search_are_told():
    shown = text(found(machine_changes=("kernel 1 → 2",)))
    assert "of a budget of 10 min: 57 min 5 s too much" in shown
    assert "the machine changed meanwhile: kernel 1 → 2" in shown


def test_commands_can_be_copied_whatever_the_folder_of_the_search_is_named():
    shown = text(found(answer="none yet", tune_id="a; rm -rf $HOME"))
    assert r"pacenote tune resume a\;\ rm\ -rf\ \$HOME" in shown
