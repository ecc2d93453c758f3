"""Part of the file that create_path.py makes; bin/prepare.py executes it and calls ``load``."""

from __future__ import annotations

import marshal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import Any


class Later:
    """Finds the modules that are imported only if they are needed; ``codes`` are their code objects, marshalled."""

    def __init__(self, codes: dict[str, bytes]) -> None:
        self.codes = codes

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:  # noqa: ARG002
        return type(sys.__spec__)(name, self) if name in self.codes else None  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> None:
        """Leave it to the import system."""

    def exec_module(self, module: ModuleType) -> None:
        exec(marshal.loads(self.codes[module.__name__]), module.__dict__)  # noqa: S102, S302


def load(folder: str, modules: list[tuple[str, bool, CodeType]], later: dict[str, bytes]) -> None:
    """Put modules (name, whether it is a package, code) into sys.modules, each after those that it needs itself."""
    for name, is_package, _ in modules:
        module = sys.modules[name] = type(sys)(name)
        if is_package:
            module.__path__ = [f"{folder}/{name.replace('.', '/')}"]
    for name, _, code in modules:
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, sys.modules[name])
        exec(code, sys.modules[name].__dict__)  # noqa: S102
    sys.meta_path.insert(0, Later(later))
