"""The gates of commands: `--fail-on`, `--require` and `--threshold`."""
