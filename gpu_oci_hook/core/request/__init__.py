"""Which devices a container is given. One module per source, each yields claims."""

from __future__ import annotations

from gpu_oci_hook.core.request.claim import Claim, Context, GivenDevice, Policy
from gpu_oci_hook.core.request.resolve import find_devices

__all__ = ["Claim", "Context", "GivenDevice", "Policy", "find_devices"]
