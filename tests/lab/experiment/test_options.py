"""How options are joined, and their form on the command line."""

from pacenote.lab.experiment.options import arguments, joined


def test_tables_are_merged_lists_are_continued_and_the_rest_is_replaced():
    first = {"car": "1gheap", "set": ["a=1"], "car-params": {"x": 1, "y": 1}}
    second = {"car": "2gheap", "set": ["b=2"], "car-params": {"y": 2}, "quick": True}
    expected = {"car": "2gheap", "set": ["a=1", "b=2"], "car-params": {"x": 1, "y": 2}, "quick": True}
    assert joined(first, second) == expected
    assert first["set"] == ["a=1"]
    assert joined({"set": "a=1"}, {"set": ["b=2"]}, {"set": "c=3"}) == {"set": ["a=1", "b=2", "c=3"]}


def test_options_become_arguments():
    options = {
        "car": ["4gheap", "zgc"],
        "jvm": ["-Xss1m", "-XX:+UseZGC"],
        "track-params": {"docs": 5},
        "test-mode": True,
        "offline": False,
        "seed": 7,
    }
    assert arguments(options) == [
        "--car=4gheap,zgc",
        "--jvm=-Xss1m",
        "--jvm=-XX:+UseZGC",
        '--track-params={"docs": 5}',
        "--test-mode",
        "--no-offline",
        "--seed=7",
    ]
