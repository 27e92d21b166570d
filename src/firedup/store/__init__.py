"""What is kept: the lines of events.jsonl, and the client's index of runs."""
