"""What a probe counts of its measured window: the work of an operation, and those that were late."""

import pytest
from msgspec.structs import replace

from lab.test_probe import OBJECTIVE, QUIET, probe, result
from pacenote.lab.probe import RunEvidence, evaluate_probe, work_per_operation
from pacenote.model.result import Throughput, WorkTotals
from pacenote.race.measured_seconds import MeasuredSeconds


def test_work_in_documents_is_shown_beside_operations():
    task_result = replace(result(), throughput=Throughput(*[50_000.0] * 4), work=WorkTotals(1_000_000, 0))
    measured = probe(task_result)
    assert (measured.achieved, measured.work, measured.work_per_operation) == (100.0, 50_000.0, 500.0)
    # It is not known how much work is in operations that an engine does not answer.
    hanging = replace(result(done=0, failed=5), work=WorkTotals(0, 0))
    assert work_per_operation(hanging) is None


def test_small_bulks_of_the_warm_up_do_not_count_for_the_work_of_an_operation():
    """Before 2,000 bulks of 500 documents, 500 bulks of one document were sent."""
    warmed_up = replace(result(), throughput=Throughput(*[50_000.0] * 4), work=WorkTotals(1_000_500, 0))
    counts = replace(warmed_up.accounting, operations=2500, succeeded=2500, warmup=500)
    assert work_per_operation(replace(warmed_up, accounting=counts)) == 500.0


def test_without_all_samples_as_few_operations_were_late_as_the_warm_up_leaves():
    warmed_up = result(unsent=100)
    counts = replace(warmed_up.accounting, operations=2500, warmup=500, waited=800)
    warmed_up = replace(warmed_up, accounting=counts)
    assert (probe(warmed_up).due, probe(warmed_up).late) == (2100, 400)
    few = replace(warmed_up, accounting=replace(counts, waited=400))
    assert probe(few).late == 100
    evidence = RunEvidence(QUIET, seconds=MeasuredSeconds(waited=700))
    assert evaluate_probe(7, 100.0, warmed_up, OBJECTIVE, evidence).late == 800


def test_only_operations_with_work_count_for_the_work_of_one():
    """A search that fails has no work; a bulk that fails counts the documents that failed."""
    searches = replace(
        result(done=979, failed=21), throughput=Throughput(*[979 / 20] * 4), work=WorkTotals(979, 0)
    )
    assert work_per_operation(searches) == pytest.approx(1.0)
    bulks = replace(
        result(done=98, failed=2), throughput=Throughput(*[99_998 / 20] * 4), work=WorkTotals(99_998, 2)
    )
    assert work_per_operation(bulks) == pytest.approx(1000.0)
    # As the half of all documents failed, that half of the window is taken to have failed, too.
    halves = replace(bulks, throughput=Throughput(*[50_000 / 20] * 4), work=WorkTotals(60_000, 60_000))
    assert work_per_operation(halves) == pytest.approx(1000.0)
