"""From the items of a list (``0``, ``GPU-…``, ``0:1``, ``all``) to GPUs and MIG instances, as libnvidia-container does.

Its src/cli/common.c tries, in this order: a full UUID in any case, a PCI address, an index, a MIG UUID, GPU:MIG.
"""

from __future__ import annotations

from gpu_oci_hook.core.gpus import UNKNOWN, Gpus
from gpu_oci_hook.core.mig import Capabilities, Instance
from gpu_oci_hook.core.procfs import is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpu_oci_hook.core.gpus import Gpu, NvmlGpu
    from gpu_oci_hook.core.request.claim import Host, Item


class Selection:
    """What a list of items means on a host.

    ``unknown`` are items that mean nothing here, ``unclear`` those of which it cannot be told which device they mean.
    """

    def __init__(self, host: Host, nvml: Iterable[NvmlGpu] = ()) -> None:
        self.host = host
        self.known = Gpus(host, nvml)
        self.capabilities = Capabilities(host)
        self.mig_uuids = {
            uuid.lower(): Instance(minor, graphics, compute)
            for _, minor, _, instances in nvml
            for uuid, graphics, compute in instances
        }
        self.gpus: dict[int, tuple[Gpu, Item]] = {}
        self.instances: dict[tuple[int, int, int], tuple[Instance, Item]] = {}
        self.unknown: list[Item] = []
        self.unclear: list[Item] = []
        self._nameless: dict[str, Item] = {}  # UUIDs that may be those of the GPUs whose UUID cannot be read

    def take(self, items: Iterable[Item]) -> Selection:
        for item in items:
            if item.text.lower() == "all":
                self._take_all(item)
                break
            self._take(item)
        self._settle_nameless()
        return self

    def _take_all(self, item: Item) -> None:
        for gpu in self.known.all:
            self._add(gpu, item)
            for instance in self.capabilities.instances(gpu.minor):
                self.instances.setdefault(instance.key, (instance, item))

    def _take(self, item: Item) -> None:
        text = item.text
        is_uuid = text[:4].upper() in ("GPU-", "MIG-")
        gpu = self.known.by_uuid(text) or self.known.by_address(text) or self.known.by_index(text)
        if gpu:
            self._add(gpu, item)
        elif text[:4].upper() == "GPU-" and self.known.without_uuid():
            self._nameless.setdefault(text.lower(), item)
        elif is_number(text) and not self.known.ordered:
            self.unclear.append(item)
        elif is_uuid or ":" in text:
            self._take_instance(item)
        else:
            self.unknown.append(item)

    def _take_instance(self, item: Item) -> None:
        text = item.text.upper()
        if text.startswith("MIG-GPU-"):
            self._take_old_uuid(item)
        elif text.startswith("MIG-"):
            self._take_mig_uuid(item)
        else:
            first, _, second = text.partition(":")
            gpu = self.known.by_index(first)
            found = self.capabilities.instances(gpu.minor) if gpu else []
            if gpu and is_number(second) and int(second) < len(found):
                self._add_instance(gpu, found[int(second)], item)
            elif is_number(first) and is_number(second) and not self.known.ordered:
                self.unclear.append(item)
            else:
                self.unknown.append(item)

    def _take_old_uuid(self, item: Item) -> None:
        """``MIG-GPU-<uuid>/gi/ci``: the form of drivers before 470, which says all."""
        uuid, _, numbers = item.text[len("MIG-") :].partition("/")
        graphics, _, compute = numbers.partition("/")
        gpu = self.known.by_uuid(uuid)
        if gpu is None and self.known.without_uuid():
            self.unclear.append(item)
        elif gpu is None or not (is_number(graphics) and is_number(compute)):
            self.unknown.append(item)
        else:
            instance = Instance(gpu.minor, int(graphics), int(compute))
            if self.capabilities.exists(instance):
                self._add_instance(gpu, instance, item)
            else:
                self.unknown.append(item)

    def _take_mig_uuid(self, item: Item) -> None:
        """``MIG-<uuid>``: only NVML knows which that is, unless there is only one that it can be."""
        instance = self.mig_uuids.get(item.text.lower())
        if instance is None and not self.mig_uuids:
            everything = [found for gpu in self.known.all for found in self.capabilities.instances(gpu.minor)]
            if len(everything) > 1:
                self.unclear.append(item)
                return
            instance = everything[0] if everything else None
        gpu = next((gpu for gpu in self.known.all if instance and gpu.minor == instance.gpu), None)
        if gpu and instance:
            self._add_instance(gpu, instance, item)
        else:
            self.unknown.append(item)

    def _settle_nameless(self) -> None:
        """UUIDs left over mean the GPUs whose own cannot be read, if there are as many of the one as of the other."""
        gpus = self.known.without_uuid()
        if len(self._nameless) == len(gpus):
            for gpu, item in zip(gpus, self._nameless.values()):
                self._add(gpu, item)
        else:
            self.unclear += self._nameless.values()

    def _add_instance(self, gpu: Gpu, instance: Instance, item: Item) -> None:
        self._add(gpu, item)
        self.instances.setdefault(instance.key, (instance, item))

    def _add(self, gpu: Gpu, item: Item) -> None:
        if gpu.minor == UNKNOWN:
            self.unclear.append(item)
        else:
            self.gpus.setdefault(gpu.minor, (gpu, item))


def select(host: Host, items: list[Item]) -> Selection:
    """The GPUs and MIG instances that items mean. NVML is asked only if something stays unclear without it."""
    selection = Selection(host).take(items)
    if selection.unclear:
        nvml = host.nvml()
        if nvml:
            return Selection(host, nvml).take(items)
    return selection
