"""watch: the guard, in the foreground. systemd runs it (deploy/gpu-oci-hook-watch.service)."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from gpu_oci_hook.cli.errors import FINE
from gpu_oci_hook.cli.options import new_command, settings_of

if TYPE_CHECKING:
    import argparse


def add_parser(commands: Any) -> argparse.ArgumentParser:
    return new_command(commands, "watch", "keep the GPUs of running containers through every reload", False)


def run(args: argparse.Namespace) -> int:
    from gpu_oci_hook.running.watch import Watch

    watch = Watch(lambda: settings_of(args))
    signal.signal(signal.SIGTERM, lambda *_: watch.stop())
    signal.signal(signal.SIGINT, lambda *_: watch.stop())
    signal.signal(signal.SIGHUP, lambda *_: watch.reread())
    watch.run()
    return FINE
