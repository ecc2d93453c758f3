"""Put the modules of the create path into one file: ``python -I create_path.py LIB``, at install time.

27 modules are 27 searches, opens and reads, a third of what Python costs a container. The file holds their code objects
in the order in which they were loaded, for this interpreter alone: its name carries sys.implementation.cache_tag.
bin/prepare.py runs it, or the plain modules where there is none for the interpreter that it finds itself in.
"""

from __future__ import annotations

import ast
import marshal
import os
import sys
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType

ENTRY = "gpu_oci_hook.runtime"
# Imported only if they are needed: for requests by environment, mounts and CDI, and for a line in the log.
LATER = (
    "gpu_oci_hook.core.request.stack",
    "gpu_oci_hook.core.request.granted",
    "gpu_oci_hook.host.cdi",
    "gpu_oci_hook.host.log",
)
LOADER = f"{os.path.dirname(os.path.abspath(__file__))}/load_modules.py"


def loaded_modules(entry: str) -> list[str]:
    """The package's modules that importing ``entry`` loads, each after those that it needs itself."""
    order = []
    load = SourceFileLoader.exec_module

    def record(loader: SourceFileLoader, module: ModuleType) -> None:
        load(loader, module)
        order.append(module.__name__)

    SourceFileLoader.exec_module = record  # type: ignore[method-assign, assignment]
    __import__(entry)
    SourceFileLoader.exec_module = load  # type: ignore[method-assign]
    return [name for name in order if name.partition(".")[0] == entry.partition(".")[0]]


class WithoutAnnotations(ast.NodeTransformer):
    """Drops what only readers and mypy use. Docstrings go with optimize=2."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        return ast.copy_location(ast.Pass(), node) if node.module == "__future__" else node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.returns = None
        self.generic_visit(node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)


def compiled(file: str) -> CodeType:
    """A module's code, without annotations and docstrings; line numbers stay those of the file."""
    with open(file, encoding="utf-8") as source:
        tree = WithoutAnnotations().visit(ast.parse(source.read(), file))
    code: CodeType = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True, optimize=2)
    return code


def main(folder: str) -> None:
    sys.path.insert(0, folder)
    first = loaded_modules(ENTRY)
    more = [name for entry in LATER for name in loaded_modules(entry)]
    modules = [(name, hasattr(sys.modules[name], "__path__"), compiled(file_of(name))) for name in first]
    later = {name: marshal.dumps(compiled(file_of(name))) for name in more}
    content = marshal.dumps((compiled(LOADER), modules, later))
    with open(f"{folder}/create-path.{sys.implementation.cache_tag}", "wb") as target:
        target.write(content)


def file_of(name: str) -> str:
    """Where a loaded module's source is."""
    file = sys.modules[name].__file__
    assert file is not None
    return file


if __name__ == "__main__":
    main(sys.argv[1])
