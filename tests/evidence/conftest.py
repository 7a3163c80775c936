"""A separate home for each test, and the command line."""

from cli.conftest import home as home
from cli.conftest import run as run
