"""Asks a running server: is it healthy, whose is its port, does it generate, what is accepted."""
