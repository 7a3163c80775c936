"""Files with rules."""

import re

import pytest

from pacenote.diagnose.rules_file import RuleFileError, bundled_rules, read_rules, with_own_rules

RULE = """
[[rule]]
id = "X1"
title = "too many pauses"
needs = ["gc.pauses"]
evidence = "gc.stop_share > stopped"
finding = "stopped for {gc.stop_share}, limit {stopped}, heap {jvm.heap_max_bytes * 2|heap}"
source = "a test"

[rule.parameters]
stopped = {value = 0.05, unit = "share", meaning = "stopped part"}

[[rule.advice]]
text = "double the heap"
options = {car-params = {heap_size = "{jvm.heap_max_bytes * 2|heap}"}, jvm = ["-Xss2m"], offline = true}
"""


def problems(tmp_path, text, file="own.toml"):
    """Returns the mistakes of a file with this text."""
    (tmp_path / file).write_text(text)
    with pytest.raises(RuleFileError) as caught:
        read_rules(tmp_path)
    return list(caught.value.problems) or [caught.value.message.removeprefix(f"{tmp_path}/")]


def test_a_rule_is_read(tmp_path):
    (tmp_path / "own.toml").write_text(RULE)
    (rule,) = read_rules(tmp_path)
    assert (rule.id, rule.file, rule.line, rule.scope, rule.tasks) == ("X1", "own.toml", 2, "task", "any")
    lookup = {"gc.stop_share": 0.1, "stopped": 0.05, "jvm.heap_max_bytes": float(3 << 29)}.__getitem__
    assert rule.finding.fill(lookup) == "stopped for 10.0 %, limit 5.0 %, heap 3g"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('id = "X1"', 'id = "X 1"', "an id has at most 20 letters, digits, _ and -, and begins with a"),
        ('id = "X1"\n', "", "id is missing"),
        ('title = "too', 'titel = "too', '"titel" is not a key of a rule (did you mean "title"?)'),
        ('title = "too many pauses"', "title = 3", "title must be a text"),
        (
            "gc.stop_share > ",
            "gc.stop_shares > ",
            "evidence: there is no figure 'gc.stop_shares' (did you",
        ),
        ("> stopped", "> stoped", "evidence: there is no parameter 'stoped' (did you mean \"stopped\"?)"),
        ('"gc.stop_share > stopped"', '"gc.stop_share"', "evidence must be a truth, not a number"),
        ('"gc.stop_share > stopped"', "3", "evidence must be an expression"),
        ("limit {stopped}", "limit {stopped", "finding: a brace has no partner"),
        ("limit {stopped}", "limit {2 * 3}", "finding: '{2 * 3}' needs a unit, such as {2 * 3|share}"),
        ("limit {stopped}", "limit {stopped|km}", "finding: '{stopped|km}' needs a unit"),
        ('"gc.pauses"', '"gc.pause"', "needs: there is no figure 'gc.pause' (did you mean"),
        (
            "gc.stop_share > ",
            "total.segments > 1 and gc.stop_share > ",
            "evidence: there is no figure 'total.segments' (use node.segments)",
        ),
        ('"gc.pauses"', '"task.kind"', "needs: there is no figure 'task.kind' (use the key tasks of the"),
        (
            "value = 0.05",
            'value = "5"',
            "the value of the parameter stopped does not have the unit share",
        ),
        ("value = 0.05", "value = inf", "the value of the parameter stopped is not finite"),
        (
            'unit = "share"',
            'unit = "km"',
            "the unit of the parameter stopped must be one of share, s, ms",
        ),
        (', meaning = "stopped part"', "", "the parameter stopped needs a value, a unit and a meaning"),
        (
            "stopped = {",
            'idle = {value = 1, unit = "s", meaning = "x"}\nstopped = {',
            "the parameter idle",
        ),
        ("stopped = {", 'min = {value = 1, unit = "s", meaning = "x"}\nstopped = {', "min cannot be the"),
        ('source = "a test"', 'source = "a"\nscope = "node"', "scope must be one of task, race, compar"),
        ('source = "a test"', 'source = "a"\nconfidence = 2', "confidence must be a number above 0"),
        ('source = "a test"', 'source = "a"\neffect = "void"', "effect belongs to rules of the kind"),
        ('source = "a test"', 'source = "a"\nkind = "validity"', "effect belongs to rules of the kind"),
        (
            'source = "a test"',
            'source = "a"\nmechanism = 3',
            "mechanism must be [[rule.mechanism]] tables",
        ),
        ('source = "a test"', 'source = "a"\nbound = "1"', "bound must be a table with a value and what"),
        (
            'source = "a test"',
            'source = "a"\nbound = {value = "1", assumes = "one", excludes = 2}',
            "bound: excludes must be a text",
        ),
        (
            "[[rule.advice]]",
            '[[rule.mechanism]]\nfigure = "gc.pauses"\n[[rule.advice]]',
            "mechanism 1: dir",
        ),
        (
            "[[rule.advice]]",
            '[[rule.guards]]\ntest = "gc.pauses"\n[[rule.advice]]',
            "guards 1: test must",
        ),
        (
            "[[rule.advice]]",
            "[[rule.cautions]]\nwhy = 1\n[[rule.advice]]",
            'cautions 1: "why" is not one',
        ),
        ('text = "double the heap"', "", "advice 1: text is missing"),
        ("offline = true", "offline = 2020-01-01", "advice 1: offline cannot be datetime.date(2020"),
    ],
)
def test_mistakes_are_reported_with_file_and_line(tmp_path, old, new, expected):
    assert old in RULE
    mistakes = [
        re.sub(r"^own.toml: line 2: (X1: |X 1: )?", "", each)
        for each in problems(tmp_path, RULE.replace(old, new))
    ]
    assert any(each.startswith(expected) for each in mistakes), mistakes


def test_all_mistakes_of_all_files_are_reported_at_once(tmp_path):
    (tmp_path / "a.toml").write_text(RULE)
    (tmp_path / "b.toml").write_text("[rules]\nx = 1")
    (tmp_path / "c.toml").write_text("[[rule]\n")
    mistakes = problems(tmp_path, RULE)
    assert [each.partition(":")[0] for each in mistakes] == [
        "b.toml must consist of [[rule]] tables",
        "c.toml is not valid TOML",
        "own.toml",
    ]
    assert mistakes[2] == "own.toml: line 2: the id X1 is used twice"


def test_a_file_with_very_many_mistakes_is_not_read_to_its_end(tmp_path):
    needs = ", ".join(f'"gc.unknown_figure_{number}"' for number in range(20_000))
    rule = RULE.replace('needs = ["gc.pauses"]', f"needs = [{needs}]", 1)
    (tmp_path / "a.toml").write_text(rule)
    with pytest.raises(RuleFileError, match="have 100 or more mistakes") as raised:
        read_rules(tmp_path)
    assert len(raised.value.problems) == 100
    unknown = "".join(f"[[rule]]\nunknown{number} = 1\n" for number in range(5_000))
    (tmp_path / "a.toml").write_text(unknown)
    with pytest.raises(RuleFileError, match="have 100 or more mistakes"):
        read_rules(tmp_path)


def test_files_that_cannot_be_rules_are_refused(tmp_path):
    with pytest.raises(RuleFileError, match="has no TOML file"):
        read_rules(tmp_path)
    with pytest.raises(RuleFileError, match="cannot be read: No such file"):
        read_rules(tmp_path / "absent")
    (tmp_path / "a.toml").write_bytes(b"\xff")
    with pytest.raises(RuleFileError, match="is not UTF-8"):
        read_rules(tmp_path)
    (tmp_path / "a.toml").write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(RuleFileError, match="larger than 1 MiB"):
        read_rules(tmp_path)
    for text, message in (
        ("x = " + "[" * 5000, "is not valid TOML"),
        ("rule = 1", "must consist of"),
        ("rule = [1]", "evidence is missing"),
        (RULE.replace("offline = true", f"x = {'[' * 20}{']' * 20}"), "x is nested too deep"),
    ):
        (tmp_path / "a.toml").write_text(text)
        with pytest.raises(RuleFileError) as caught:
            read_rules(tmp_path)
        assert re.search(message, " ".join((caught.value.message, *caught.value.problems)))


def test_an_own_rule_replaces_the_bundled_one_with_its_id(tmp_path):
    bundled = bundled_rules()
    (tmp_path / "own.toml").write_text(RULE.replace("X1", bundled[0].id) + RULE)
    together = with_own_rules(bundled, read_rules(tmp_path))
    assert [rule.file for rule in (together[0], together[-1])] == ["own.toml", "own.toml"]
    assert len(together) == len(bundled) + 1
    (tmp_path / "own.toml").write_text(RULE.replace("source =", 'withheld-by = ["Z9"]\nsource ='))
    with pytest.raises(RuleFileError, match="refer to others") as caught:
        with_own_rules(bundled, read_rules(tmp_path))
    assert caught.value.problems == ("own.toml: line 2: X1: there is no rule 'Z9'",)


@pytest.mark.parametrize("name", ["", "inf", "9" * 401, "stoped"])
def test_a_needed_name_that_is_no_figure_is_a_mistake(tmp_path, name):
    (message,) = problems(tmp_path, RULE.replace('["gc.pauses"]', f'["{name}"]'))
    assert "own.toml" in message
    assert f"needs: there is no parameter '{name}'" in message
