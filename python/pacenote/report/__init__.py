"""What a race is told as: reports are built as data here, and printed by the modules in `render`."""
