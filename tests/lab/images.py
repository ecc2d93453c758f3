"""An image made on the spot: busybox and nothing else, in the archive form that containerd, docker and podman load."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile

from tests.lab.machine import Machine

IMAGE = "docker.io/library/gpu-lab:1"
ARCHIVE = "/var/lib/lab/image.tar"
COMMAND = ["/bin/sleep", "1000000"]


def make_archive(machine: Machine) -> str:
    """Write the archive into the lab and return its path."""
    with open(machine.path("/bin/busybox"), "rb") as file:
        layer = _tar({"bin/busybox": file.read()}, links=("sh", "sleep", "cat", "true"))
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Cmd": COMMAND, "Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
    ).encode()
    name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = [{"Config": name, "RepoTags": [IMAGE.removeprefix("docker.io/library/")], "Layers": ["layer.tar"]}]
    content = {name: config, "layer.tar": layer, "manifest.json": json.dumps(manifest).encode()}
    machine.write(ARCHIVE, "")
    with open(machine.path(ARCHIVE), "wb") as file:
        file.write(_tar(content))
    return ARCHIVE


def _tar(content: dict[str, bytes], links: tuple[str, ...] = ()) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in content.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o755
            archive.addfile(entry, io.BytesIO(data))
        for name in links:
            entry = tarfile.TarInfo(f"bin/{name}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(entry)
    return buffer.getvalue()
