"""What our wrapper will start, against what the engine starts without it."""

from __future__ import annotations

from gpu_oci_hook.core.findings import Finding, warning
from gpu_oci_hook.engines.errors import EngineError
from gpu_oci_hook.engines.request import Request, is_wrapper

NVIDIA = "nvidia-container-runtime"


def refuse_nvidia_default(request: Request, runtime: str, program: str) -> None:
    """Raises EngineError where ours would become the default in the place of NVIDIA's: GPUs would not be injected."""
    if request.set_default and program.rpartition("/")[2].startswith(NVIDIA):
        raise EngineError(
            f"the default runtime {runtime} is NVIDIA's, and with ours in its place containers would get no GPUs",
            "register below it: gpu-oci-hook install nvidia",
        )


def check_program(request: Request, runtime: str, program: str, file: str) -> list[Finding]:
    """A warning where the wrapper would start another program than the runtime that it stands beside."""
    name = program.rpartition("/")[2]
    if name.startswith(NVIDIA):
        return [
            warning(
                "nvidia-runtime-bypassed",
                file,
                f"the runtime {runtime} is NVIDIA's ({program}), and containers started through ours do not pass it",
                "the place for our wrapper is below it: gpu-oci-hook install nvidia",
            )
        ]
    first = request.runtimes[0]
    usual = (name, f"/usr/bin/{name}", f"/usr/sbin/{name}")
    if is_wrapper(program) or program == first or (name == first and program in usual):
        return []
    return [
        warning(
            "other-real-runtime",
            file,
            f"the runtime {runtime} starts {program}, our wrapper {first}",
            f'put it first in the settings: runtimes = ["{program}", ...]',
        )
    ]
