"""Joins host, pipeline, probe and store: launches, watches and stops servers, yields snapshots."""
