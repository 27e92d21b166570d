"""Turns the built-in catalogue, linked here, into tests."""

from __future__ import annotations

from firedup.testing.plugin import pytest_collect_file

__all__ = ["pytest_collect_file"]

collect_ignore = ["bad"]
