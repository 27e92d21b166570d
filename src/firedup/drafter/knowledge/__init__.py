"""What engines do with drafters, as data: one file for each engine, and published drafters."""
