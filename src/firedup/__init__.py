"""firedup launches LLM inference servers, tells from evidence how they are, and why."""

__version__ = "0.1.0"
