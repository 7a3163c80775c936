from pacenote.model.recording import AllocationGroup, RecordedValues, totals_by


def group(object_class, thread, *sizes):
    return AllocationGroup(
        object_class, thread, None, RecordedValues(len(sizes), sum(sizes), min(sizes), max(sizes))
    )


def test_groups_are_summed_up_by_a_key_and_sorted_by_their_totals():
    groups = [group(0, 0, 5, 7), group(1, 0, 90), group(0, 1, 3), group(None, 1, 40)]
    assert totals_by(groups, lambda each: each.object_class) == [
        (1, RecordedValues(1, 90, 90, 90)),
        (None, RecordedValues(1, 40, 40, 40)),
        (0, RecordedValues(3, 15, 3, 7)),
    ]
    by_thread = totals_by(groups, lambda each: each.thread)
    assert by_thread == [(0, RecordedValues(3, 102, 5, 90)), (1, RecordedValues(2, 43, 3, 40))]
    assert by_thread[0][1].average == 34
