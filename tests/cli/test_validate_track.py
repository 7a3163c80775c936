"""`pacenote validate-track`: valid tracks, and all problems of invalid ones."""

import json

import pytest


def test_a_valid_track(run, books):
    arguments = ("validate-track", f"--track-path={books}")
    assert run(*arguments) == (0, 'track "books" is valid: 2 challenges, 4 tasks\n', "")
    assert run(*arguments, "--challenge=slow")[1] == 'track "books" is valid: 1 challenge, 1 task\n'
    assert run(*arguments, "--build-flavor=serverless")[1].endswith("2 challenges, 3 tasks\n")
    assert run(*arguments, "--quiet") == (0, "", "")


def test_problems_of_the_chosen_challenge_are_shown_once(run, books):
    text = (books / "track.json").read_text()
    (books / "track.json").write_text(
        text.replace('"force-merge"', '"force-mrge"').replace('"body"', '"bdy"')
    )
    code, out, err = run("validate-track", f"--track-path={books}")
    assert (code, out) == (64, "")
    assert err.startswith('error: challenge "fast" of track "books" has 2 problems\n')
    assert err.count("operations[0].body is missing") == 1
    assert 'did you mean "force-merge"?' in err


PLUGIN = """
class Reject:
    def on_after_load_track(self, track):
        raise RuntimeError({reason})

def register(registry):
    registry.register_track_processor(Reject())
"""


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_secret_parameters_are_not_shown(debug, run, books):
    text = (books / "track.json").read_text()
    (books / "track.json").write_text(text.replace("about", "my_password"))
    (books / "track.py").write_text(PLUGIN.replace("{reason}", "track.description, {'a': track.description}"))
    code, out, err = run(*(
        "validate-track",
        f"--track-path={books}",
        '--track-params={"my_password": "hunter-\'2"}',
        *debug,
    ))
    assert (code, out) == (64, "")
    assert "<hidden>" in err
    assert "hunter" not in err


def test_problems_of_other_challenges_are_warnings(run, books):
    document = json.loads((books / "track.json").read_text())
    needs_parameters = {"operation-type": "create-snapshot", "body": {}}
    document["challenges"][1]["schedule"] = [{"operation": needs_parameters}]
    (books / "track.json").write_text(json.dumps(document))
    code, out, err = run("validate-track", f"--track-path={books}", "--challenge=fast")
    assert (code, out, err) == (0, 'track "books" is valid: 1 challenge, 3 tasks\n', "")
    code, out, err = run("validate-track", f"--track-path={books}")
    assert (code, out) == (0, 'track "books" is valid: 1 challenge, 3 tasks\n')
    assert err.startswith('warning: challenge "slow" cannot run: ')
    assert "repository is missing" in err
    assert "(and 1 more: --challenge=slow)" in err
    code, _, err = run("validate-track", f"--track-path={books}", "--challenge=slow")
    assert (code, "repository is missing" in err, "snapshot is missing" in err) == (64, True, True)


def test_an_unused_parameter_is_an_error(run, books):
    code, _, err = run("validate-track", f"--track-path={books}", "--track-params=abuot:x")
    assert code == 64
    assert '"abuot" (did you mean "about"?)' in err
