"""Hosts: the agent that runs there, the keeper beside each server, and the link to them."""
