"""The lines of keys."""

import tomllib

from pacenote.lab.experiment.toml_lines import key_lines, line_of

TEXT = '''# a comment = 1
question = "a = b # no comment"

[race]
"track" = "t"
text = """
[not.a.table]
key = 1
"""
jvm = [
  "-Xss1m", # [x]
  "=",
]
params = {heap = "1g",
  a.b = 1} if_valid

[variants."b c".more]
a.b = {c = 1}
[[list]]
x = 1
'''.replace(",\n  a.b = 1} if_valid", "}")


def test_tables_and_keys_have_the_line_on_which_they_begin():
    tomllib.loads(TEXT)
    assert key_lines(TEXT) == {
        ("question",): 2,
        ("race",): 4,
        ("race", "track"): 5,
        ("race", "text"): 6,
        ("race", "jvm"): 10,
        ("race", "params"): 14,
        ("variants",): 16,
        ("variants", "b c"): 16,
        ("variants", "b c", "more"): 16,
        ("variants", "b c", "more", "a"): 17,
        ("variants", "b c", "more", "a", "b"): 17,
        ("list",): 18,
        ("list", "x"): 19,
    }


def test_a_key_of_an_inline_table_has_the_line_of_the_table():
    lines = key_lines(TEXT)
    assert line_of(lines, ("race", "params", "heap")) == 14
    assert line_of(lines, ("missing",)) == 0
    assert line_of(lines, ("variants", "d")) == 16
