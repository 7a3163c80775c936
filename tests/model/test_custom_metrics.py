"""Names of numbers whose direction is known."""

import pytest

from pacenote.model.custom_metrics import is_time, known_direction


@pytest.mark.parametrize(
    "name",
    [
        *(
            "recall",
            "Recall@10",
            "recall@k",
            "recall@1",
            "recall_at_10",
            "recall_at_k",
            "recall10",
            "knn_recall",
        ),
        *("avg_recall", "mean recall", "meanRecall", "quality.recall", "recall.mean", "min-precision@5"),
        *("ndcg_at_10", "NDCG@10", "nDCG@10", "mrr", "MRR", "p@10", "P@k", "p_at_10", "top.p@5"),
    ],
)
def test_words_of_quality_count_anywhere_in_a_name(name):
    assert known_direction(name) == "higher"


@pytest.mark.parametrize(
    "name",
    [
        *(
            "recall_time_ms",
            "recallTimeMs",
            "recall_error",
            "precision_threshold",
            "recall_count",
            "recalled",
        ),
        *("p10", "precisions", "took", "distance", "imprecision", "hits_recall_total"),
    ],
)
def test_other_names_have_no_known_direction(name):
    assert known_direction(name) is None


@pytest.mark.parametrize("name", ["hits", "hits.total", "hits.total.value", "search.hits"])
def test_hits_are_neutral(name):
    assert known_direction(name) == "neutral"


def test_times_are_told_by_their_words():
    assert all(map(is_time, ("took", "recall_time_ms", "fetchTime", "merge.millis")))
    assert not any(map(is_time, ("recall", "timeouts", "distance", "terms")))
