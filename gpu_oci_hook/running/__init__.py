"""Containers that run now: discover, audit, explain, repair, watch."""
