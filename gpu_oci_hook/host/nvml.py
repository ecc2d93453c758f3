"""What NVML knows of GPUs, for what nothing else can tell: MIG UUIDs, and the UUIDs of GPUs that no one has used yet.

The library is an optional extra (nvidia-ml-py). It talks to the driver, which may take seconds or hang when a GPU has
failed; so it is asked in a child with a time limit, and a container's start waits no longer than that.
"""

from __future__ import annotations

import posix
import time
from _signal import alarm  # type: ignore[import-not-found]  # the signal module imports enum

from gpu_oci_hook.core.jsontext import JsonTextError, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpu_oci_hook.core.gpus import NvmlGpu

SECONDS = 3
PAUSE = 0.01
DESCRIPTORS = 1 << 12


def ask() -> list[NvmlGpu]:
    """All GPUs in the order of their index; none when NVML is not installed, fails, or takes longer than SECONDS."""
    reading, writing = posix.pipe()
    child = posix.fork()
    if child == 0:
        _answer(writing)
    posix.close(writing)
    try:
        text = _read_within(reading, SECONDS)
    finally:
        posix.close(reading)
        posix.waitpid(child, posix.WNOHANG)  # not longer: a child that the driver holds cannot be ended
    try:
        return [
            (uuid, minor, address, [(mig, graphics, compute) for mig, graphics, compute in instances])
            for uuid, minor, address, instances in parse(text).value
        ]
    except (JsonTextError, TypeError, ValueError):
        return []


def _read_within(descriptor: int, seconds: float) -> str:
    posix.set_blocking(descriptor, False)
    content = b""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            part = posix.read(descriptor, 1 << 16)
        except BlockingIOError:
            time.sleep(PAUSE)
            continue
        if not part:
            return content.decode("utf-8", "replace")
        content += part
    return ""


def _answer(writing: int) -> None:
    """The child: never returns, and never outlives its time limit unless the driver holds it in the kernel."""
    try:
        alarm(SECONDS)
        # An engine waits for the end of the pipes that it gave to the runtime; a child that hangs must not hold them.
        posix.closerange(0, writing)
        posix.closerange(writing + 1, DESCRIPTORS)
        posix.write(writing, _query().encode())
    finally:
        posix._exit(0)


def _query() -> str:
    from gpu_oci_hook.host.libraries import reach

    reach()
    import json

    import pynvml

    pynvml.nvmlInit()
    handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
    return json.dumps([_gpu(pynvml, handle) for handle in handles])


def _gpu(pynvml: Any, handle: Any) -> list[Any]:
    address = _text(pynvml.nvmlDeviceGetPciInfo(handle).busId)
    return [
        _text(pynvml.nvmlDeviceGetUUID(handle)),
        pynvml.nvmlDeviceGetMinorNumber(handle),
        address,
        _instances(pynvml, handle),
    ]


def _instances(pynvml: Any, handle: Any) -> list[list[Any]]:
    found = []
    try:
        for index in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
            mig = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
            graphics = pynvml.nvmlDeviceGetGpuInstanceId(mig)
            found.append([_text(pynvml.nvmlDeviceGetUUID(mig)), graphics, pynvml.nvmlDeviceGetComputeInstanceId(mig)])
    except pynvml.NVMLError:  # no MIG here, or no more instances
        pass
    return found


def _text(value: str | bytes) -> str:
    """Older releases of the library give bytes."""
    return value.decode() if isinstance(value, bytes) else value
