"""Keeps the GPUs of containers through every re-derivation of their device rules by systemd."""

__version__ = "0.1.0"
