"""config.json against the schema of the OCI runtime specification: all that is wrong, each with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpu_oci_hook import schemas
from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.rules import kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpu_oci_hook.core.findings import Finding

NAMES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
}
SHOWN_MAX = 40


def schema_findings(spec: Any) -> list[Finding]:
    """One finding of code ``schema`` for each thing that the specification does not allow, in the order of places.

    A member that is null counts as absent, as runtimes written in Go read it.
    """
    errors = _validator().iter_errors(_without_nulls(spec))
    found = [say.error("schema", place(error.absolute_path), _message(error)) for error in errors]
    return sorted(dict.fromkeys(found), key=lambda finding: (finding.path, finding.message))


def _validator() -> Any:
    import jsonschema

    base = jsonschema.Draft7Validator
    # JSON Schema takes 1.0 for an integer; runc and crun do not.
    types = base.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    return jsonschema.validators.extend(base, type_checker=types)(schemas.load("oci-config"))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def place(path: Iterable[Any]) -> str:
    """A place in config.json: ``linux.resources.devices[3].access``, ``annotations["io.kubernetes.cri"]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.replace("_", "").isalnum():
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text or "config.json"


def _message(error: Any) -> str:
    value, wanted = error.instance, error.validator_value
    description = error.schema.get("description", "")
    if error.validator == "type":
        return f"{NAMES.get(wanted, wanted)} is wanted, {kind(value)} was found"
    if error.validator == "required":
        missing = next((key for key in wanted if key not in value and repr(key) in error.message), wanted[0])
        return f"{missing!r} is missing"
    if error.validator == "enum":
        return f"one of {', '.join(map(str, filter(None, wanted)))} is wanted, not {_shown(value)}"
    if description and error.validator in ("pattern", "minimum", "maximum"):
        return f"{description} is wanted, not {_shown(value)}"
    if error.validator in ("minItems", "minLength"):
        return "it is empty"
    return str(error.message)


def _shown(value: Any) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value) if isinstance(value, (int, float)) else kind(value)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"
