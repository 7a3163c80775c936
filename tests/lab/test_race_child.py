"""The races of experiments and searches, each a process of its own."""

from pacenote.lab.race_child import race_arguments


def test_a_race_of_several_writes_no_page_unless_its_options_ask_for_it():
    assert race_arguments({"track": "t"}) == ("race", "--no-html", "--no-metrics-store", "--track=t")
    # The later flag counts.
    assert race_arguments({"html": True}) == ("race", "--no-html", "--no-metrics-store", "--html")
