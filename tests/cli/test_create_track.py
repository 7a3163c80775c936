"""`pacenote create-track`: its options, without a cluster."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--track=x"], "one of the arguments --indices --data-streams is required"),
        (["--track=x", "--indices=a", "--data-streams=b"], "not allowed with argument"),
        (["--indices=a"], "the following arguments are required: --track"),
        (["--track=../x", "--indices=a"], "--track cannot be '../x'"),
        (["--track=x", "--indices=a", "--batch-size=0"], "--batch-size"),
        (["--track=x", "--indices=,"], "--indices is empty"),
    ],
)
def test_invalid_options_of_create_track_are_rejected(run, arguments, message):
    code, out, err = run("create-track", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_cluster_that_does_not_answer_is_an_error(run, tmp_path):
    code, _, err = run(
        *("create-track", "--track=x", "--indices=a", "--target-hosts=127.0.0.1:9"),
        f"--output-path={tmp_path}",
    )
    assert code == 64
    assert err.startswith("error: the cluster cannot be reached at ")
    assert list(tmp_path.iterdir()) == []
