"""Measures firedup against its bars; `python -m bench NAME` runs one bench."""
