"""Knows checkpoints: whether their files are whole, and what their headers say."""
