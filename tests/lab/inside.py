"""What a lab does in its new namespaces before systemd: a root of its own, then exec. Run by machine.py, not by hand.

Arguments: cgroup version, its directory, lower root filesystem, checkout; for version 1 the hierarchies.
"""

from __future__ import annotations

import os
import subprocess
import sys

NODES = {
    "null": (1, 3),
    "zero": (1, 5),
    "full": (1, 7),
    "random": (1, 8),
    "urandom": (1, 9),
    "kmsg": (1, 11),
    "tty": (5, 0),
    "fuse": (10, 229),
    "kvm": (10, 232),
}
# udev-trigger would send events to the machine's own udev; sysctl and the two others would change its kernel.
MASKED = (
    "systemd-udev-trigger.service",
    "systemd-sysctl.service",
    "systemd-modules-load.service",
    "systemd-binfmt.service",
    "proc-sys-fs-binfmt_misc.automount",
    "systemd-random-seed.service",
    "systemd-timesyncd.service",
    "systemd-networkd.service",
)


def mount(type: str, target: str, *options: str, source: str = "lab") -> None:
    """Mount a filesystem, making the directory first."""
    os.makedirs(target, exist_ok=True)
    command = ["mount", "-n", "-t", type]
    if options:
        command += ["-o", ",".join(options)]
    subprocess.run([*command, source, target], check=True)


def overlay(lower: str, files: str, target: str) -> None:
    """Lay a writable overlay over `lower`, which stays as it is."""
    for name in ("upper", "work"):
        os.makedirs(f"{files}/{name}")
    mount("overlay", target, f"lowerdir={lower}", f"upperdir={files}/upper", f"workdir={files}/work", source="overlay")


def populate_dev(dev: str) -> None:
    """Make a small /dev; not devtmpfs, which is the machine's own and would show the lab's nodes to it."""
    mount("tmpfs", dev, "mode=755")
    for directory in ("char", "block"):
        os.mkdir(f"{dev}/{directory}")
    mount("devpts", f"{dev}/pts", "newinstance", "ptmxmode=0666", "mode=620", "gid=5")
    mount("tmpfs", f"{dev}/shm")
    os.symlink("pts/ptmx", f"{dev}/ptmx")
    os.symlink("/proc/self/fd", f"{dev}/fd")
    with open(f"{dev}/console", "wb"):
        pass
    for name, (major, minor) in NODES.items():
        os.mknod(f"{dev}/{name}", 0o20666, os.makedev(major, minor))
        os.chmod(f"{dev}/{name}", 0o666)  # mknod obeys the umask
        os.symlink(f"../{name}", f"{dev}/char/{major}:{minor}")


def mount_cgroups(root: str, version: str, hierarchies: list[str]) -> None:
    """Mount version 2, or each of the machine's version 1 hierarchies as `options` names them."""
    base = f"{root}/sys/fs/cgroup"
    if version == "v2":
        mount("cgroup2", base)
        return
    mount("tmpfs", base, "mode=755")
    for options in hierarchies:
        if options.startswith("none,"):
            mount("cgroup", f"{base}/systemd", options)
            continue
        mount("cgroup", f"{base}/{options}", options)
        for controller in options.split(","):
            if not os.path.exists(f"{base}/{controller}"):
                os.symlink(options, f"{base}/{controller}")


def settle_etc(root: str) -> None:
    """Take away what belongs to the machine (its mounts, its identity) and the services that reach out of the lab."""
    for name, text in {"fstab": "", "machine-id": "0123456789abcdef0123456789abcdef\n", "hostname": "lab\n"}.items():
        path = f"{root}/etc/{name}"
        if os.path.lexists(path):
            os.unlink(path)
        with open(path, "w", encoding="ascii") as target:
            target.write(text)
    units = f"{root}/run/systemd/system"
    os.makedirs(units)
    for unit in MASKED:
        os.symlink("/dev/null", f"{units}/{unit}")


def refuse_chroot() -> None:
    """Stop where the root is not the namespace's own: in a chroot pivot_root leaves that one above us.

    Joining a namespace leads to its root (setns(2)), as `runc exec` does: it would act on the machine itself.
    """
    identify = ["sh", "-c", "grep mnt_id /proc/self/fdinfo/3 3</"]  # not stat: a bind mount of / has the same inode
    ours = subprocess.run(identify, check=True, stdout=subprocess.PIPE).stdout
    joined = subprocess.run(
        ["nsenter", "--mount=/proc/self/ns/mnt", *identify], check=True, stdout=subprocess.PIPE
    ).stdout
    if ours != joined:
        sys.exit("this is a chroot: what joins the lab would get the root outside of it (pivot_root instead)")


def main(version: str, directory: str, lower: str, checkout: str, *hierarchies: str) -> None:
    """Build the root below `directory`, make it the root and become systemd."""
    refuse_chroot()
    mount("tmpfs", directory, "mode=755")
    root = f"{directory}/root"
    overlay(lower, f"{directory}/system", root)
    mount("proc", f"{root}/proc", source="proc")
    mount("sysfs", f"{root}/sys", source="sysfs")
    mount("bpf", f"{root}/sys/fs/bpf", source="bpf")  # without it crun >= 1.23 never uses BPFProgram=
    populate_dev(f"{root}/dev")
    mount("tmpfs", f"{root}/run", "mode=755")
    mount("tmpfs", f"{root}/tmp", "mode=1777")
    overlay(checkout, f"{directory}/checkout", f"{root}/src")
    mount_cgroups(root, version, list(hierarchies))
    settle_etc(root)
    os.chdir(root)
    # Not chroot: a runtime's own pivot_root and exec would see the old root.
    subprocess.run(["pivot_root", ".", "."], check=True)
    subprocess.run(["umount", "-l", "."], check=True)
    os.chdir("/")
    environment = {
        "container": "lab",
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE": "1",  # systemd 256 and 257 refuse version 1 without it
    }
    arguments = ["systemd", "--log-target=console", "--show-status=no", "systemd.unit=basic.target"]
    os.execve("/lib/systemd/systemd", arguments, environment)


if __name__ == "__main__":
    main(*sys.argv[1:])
