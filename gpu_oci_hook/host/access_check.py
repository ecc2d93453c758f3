"""What a container may do with a device now: asked of the kernel, by number, from within the container's cgroup.

A short-lived child makes nodes in a private tmpfs, moves into the cgroup and calls access(2) on them. access(2) goes
through inode_permission(), which asks v1's device list and v2's device programs alike (linux fs/namei.c,
include/linux/device_cgroup.h), and opens nothing: opening a GPU's node initialises the GPU. The nodes are made before
the move, because making them needs ``m``. Nothing of the host's or the container's files is touched.

Needs CAP_SYS_ADMIN, CAP_MKNOD and the right to write to cgroup.procs, that is root on the host.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import signal
import time
from typing import TYPE_CHECKING, NamedTuple

from gpu_oci_hook.host import cgroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gpu_oci_hook.core.devices import Number

NOBODYS = os.makedev(4095, 1048575)  # a number that no driver has and no rule names
CLONE_NEWNS = 0x00020000
MS_NOSUID, MS_NOEXEC, MS_PRIVATE_RECURSIVE = 0x2, 0x8, 0x44000
PRIVATE = "/dev"  # hidden by the tmpfs, for the child only: no cgroup hierarchy is below it
GONE = (errno.ENOENT, errno.ENODEV, errno.ESRCH)


class AccessCheckError(Exception):
    """No access check can be made on this host by this process."""

    code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Question(NamedTuple):
    """May a process in the cgroup ``directory`` read and write these devices?"""

    directory: str
    numbers: tuple[Number, ...]


class Answer(NamedTuple):
    """``allowed`` has each number that was asked for, or is empty where ``problem`` says why nothing is known.

    ``makes`` says which kinds of nodes (``c``, ``b``) may be made there, whatever their number (``c *:* m``).
    """

    allowed: dict[Number, bool]
    problem: str = ""
    gone: bool = False  # the cgroup has vanished
    makes: str = ""


def check(directory: str, numbers: Iterable[Number], timeout: float = 5.0) -> Answer:
    """Whether a process in a cgroup may read and write devices.

    ``directory`` as ``cgroup.of_process(pid, ...).directory`` has it. Raises AccessCheckError.
    """
    return check_all([Question(directory, tuple(numbers))], timeout)[0]


def check_all(questions: Sequence[Question], timeout: float = 5.0) -> list[Answer]:
    """Answer many questions with one child that goes from cgroup to cgroup; ``timeout`` is for each one of them.

    A cgroup in which the child hangs (paused meanwhile) gets a problem; the others are still answered.
    Raises AccessCheckError where not even the child's nodes can be made.
    """
    answers: list[Answer] = []
    while len(answers) < len(questions):
        answers += _ask_child(questions[len(answers) :], timeout)
    return answers


def _ask_child(questions: Sequence[Question], timeout: float) -> list[Answer]:
    """At least one answer. Fewer than questions mean that the child had to be ended at the last of them."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _child(writer, questions)
    os.close(writer)
    try:
        return _collect(reader, questions, timeout)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _collect(reader: int, questions: Sequence[Question], timeout: float) -> list[Answer]:
    answers: list[Answer] = []
    buffer = b""
    while len(answers) < len(questions):
        line, separator, rest = buffer.partition(b"\n")
        if separator:
            buffer = rest
            answers.append(_parse(line.decode(), questions[len(answers)]))
            continue
        chunk = _read(reader, timeout)
        if chunk is None:
            return [*answers, Answer({}, f"no answer from within the cgroup after {timeout:g} s; is it paused?")]
        if not chunk:
            return [*answers, Answer({}, "the check was ended from within the cgroup")]
        buffer += chunk
    return answers


def _read(reader: int, timeout: float) -> bytes | None:
    """The next bytes, empty at the end; None when none came in time."""
    deadline = time.monotonic() + timeout
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        return None
    return os.read(reader, 65536)


def _parse(line: str, question: Question) -> Answer:
    kind, _, text = line.partition(" ")
    if kind == "fatal":
        raise AccessCheckError(f"the access check cannot be made: {text}", "run it as root on the host")
    if kind == "problem":
        return Answer({}, text)
    if kind == "gone":
        return Answer({}, "the cgroup is gone", gone=True)
    marks, _, makes = text.partition(" ")
    return Answer({number: mark == "1" for number, mark in zip(question.numbers, marks)}, makes=makes)


def _child(writer: int, questions: Sequence[Question]) -> None:
    """Runs in the child, and never returns."""
    status = 1
    try:
        try:
            access = _prepare(questions)
        except OSError as error:
            os.write(writer, f"fatal {error.strerror} ({error.filename})\n".encode())
        else:
            for question in questions:
                os.write(writer, f"{_answer(question, access)}\n".encode())
            status = 0
    finally:
        os._exit(status)


def _prepare(questions: Sequence[Question]) -> Callable[[Number], bool]:
    """Make the nodes. Gives back what asks for one of them."""
    libc = ctypes.CDLL(None, use_errno=True)
    _must(libc.unshare(CLONE_NEWNS), "unshare")
    _must(libc.mount(b"none", b"/", None, MS_PRIVATE_RECURSIVE, None), "mount /")
    options = b"mode=700,size=1m"
    _must(libc.mount(b"gpu-oci-hook", PRIVATE.encode(), b"tmpfs", MS_NOSUID | MS_NOEXEC, options), "mount tmpfs")
    paths: dict[Number, bytes] = {}
    for number in {number for question in questions for number in question.numbers}:
        path = f"{PRIVATE}/{number[0]}{number[1]}:{number[2]}"
        kind = 0o060000 if number[0] == "b" else 0o020000
        os.mknod(path, kind | 0o600, os.makedev(number[1], number[2]))
        paths[number] = path.encode()

    def access(number: Number) -> bool:
        if libc.access(paths[number], os.R_OK | os.W_OK) == 0:
            return True
        if ctypes.get_errno() in (errno.EPERM, errno.EACCES):
            return False
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    for number in paths:
        access(number)  # touches the memory of what follows here, where it is not charged to the container
    return access


def _must(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), what)


def _answer(question: Question, access: Callable[[Number], bool]) -> str:
    if cgroup.is_frozen(question.directory):
        return "problem the container is paused"
    try:
        # v2 and v1 alike: 0 is the writer itself. In v1 only the devices hierarchy is entered.
        with open(f"{question.directory}/cgroup.procs", "w", encoding="ascii") as procs:
            procs.write("0")
        marks = "".join("1" if access(number) else "0" for number in question.numbers)
        return f"allowed {marks} {''.join(kind for kind in 'cb' if _may_make(kind))}"
    except OSError as error:
        return "gone" if error.errno in GONE else f"problem {error.strerror}"


def _may_make(kind: str) -> bool:
    path = f"{PRIVATE}/made"
    try:
        os.mknod(path, (0o060000 if kind == "b" else 0o020000) | 0o600, NOBODYS)
    except PermissionError:
        return False
    os.unlink(path)
    return True
