"""Snapshots and explanations in, text out."""
