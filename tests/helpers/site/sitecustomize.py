"""Python imports this module at its start, where its folder is on PYTHONPATH."""

from tests.helpers.portability import hide_linux

hide_linux()
