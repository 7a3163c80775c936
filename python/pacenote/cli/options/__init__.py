"""The options of commands, where their values come from, and whether these are trusted."""
