"""What NVIDIA's own configuration leaves out, where the host has one: its tools then give less than we would assume."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.request.claim import Host

PATH = "/etc/nvidia-container-runtime/config.toml"
# Keys of the top level, with the value that counts where the file does not say (internal/config/config.go).
ENVIRONMENT = ("accept-nvidia-visible-devices-envvar-when-unprivileged", True)
MOUNTS = ("accept-nvidia-visible-devices-as-volume-mounts", False)


def accepts(host: Host, setting: tuple[str, bool]) -> bool:
    """Whether NVIDIA's tools take this source; True where there is no such file.

    Only lines ``key = true`` and ``key = false`` before the first table are read.
    """
    text = host.read(PATH)
    if not text:
        return True
    key, default = setting
    for line in text.splitlines():
        name, _, value = line.partition("#")[0].partition("=")
        if name.strip().startswith("["):
            break
        if name.strip().strip("\"'") == key:
            return value.strip() != "false" if default else value.strip() == "true"
    return default
