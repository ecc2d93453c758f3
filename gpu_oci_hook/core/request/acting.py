"""Whether anything will act on what a container's environment asks for.

Every CUDA image carries NVIDIA_VISIBLE_DEVICES=all. That alone gives a container nothing, and so it gets nothing of us.
"""

from __future__ import annotations

from gpu_oci_hook.core.spec_values import bounding_set, hook_commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.request.claim import Context
    from gpu_oci_hook.core.spec import Spec

# nvidia-container-toolkit is the hook's older name. nvidia-cdi-hook and nvidia-ctk are hooks too, but they carry out
# what is in a CDI spec and do not look at the environment.
HOOKS = ("nvidia-container-runtime-hook", "nvidia-container-toolkit")
RUNTIME = "nvidia-container-runtime"  # also with .cdi, .legacy, .experimental at its end


class Acting:
    """Who acts on the environment: the hook, NVIDIA's runtime, or whoever the administrator knows of."""

    __slots__ = ("always", "hook", "runtime")

    def __init__(self, spec: Spec, context: Context) -> None:
        name = context.next_runtime.rpartition("/")[2]
        self.always = context.policy.env == "always"
        self.runtime = name == RUNTIME or name.startswith(f"{RUNTIME}.")
        self.hook = any(word.rpartition("/")[2] in HOOKS for command in hook_commands(spec) for word in command)

    def __bool__(self) -> bool:
        return self.always or self.runtime or self.hook

    @property
    def beyond_the_hook(self) -> bool:
        """Whether the wishes count that NVIDIA's runtime understands and its hook does not."""
        return self.always or self.runtime


def is_privileged(spec: Spec) -> bool:
    """What NVIDIA's tools call privileged: CAP_SYS_ADMIN in the bounding set."""
    return "CAP_SYS_ADMIN" in bounding_set(spec)
