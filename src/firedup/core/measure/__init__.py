"""Answers of a server → acceptance and speed with their intervals, and the advice that follows."""
