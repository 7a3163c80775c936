"""What a Flight Recorder recording says, as data: tables, and stacks merged into a tree.

`events` selects the groups of a recording that belong to a kind of event, `breakdown` sums them up by class,
thread, stack or method, `build` makes the report of one or two recordings, and `stack_tree` what flame graphs
and the formats of other viewers are written from. Nothing here reads files; `render` prints.
"""
