"""Stand-ins for tests: a fake engine as a real process, scripted from recorded runs."""
