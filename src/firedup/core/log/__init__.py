"""Bytes of a log → lines → multi-line messages, per source and in the order they were written."""
