"""Measurements of what we cost, side by side with the bare runtime."""
