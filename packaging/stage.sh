#!/bin/sh
# Lay out lib/gpu-oci-hook: our package, its libraries, byte code for the interpreter that will run it.
#
#   PYTHON=/usr/bin/python3 BUNDLE=yes stage.sh DIR
#
# With BUNDLE=yes pip puts the libraries beside our package, in the versions of bundle.txt, which are pure Python and so
# outlive an upgrade of the interpreter. With BUNDLE=no the distribution's own packages are used.
set -eu
target=$1
here=$(dirname "$0")

if [ -d "$target" ]; then rm -rf "$target"; fi
mkdir -p "$target"
cp -R "$here/../gpu_oci_hook" "$target/"
for file in prepare.py plain-spec.awk start_hook.py command.py; do cp "$here/../bin/$file" "$target/"; done
find "$target" -name __pycache__ -exec rm -rf {} +

if [ "$BUNDLE" = yes ]; then
  tools=$(mktemp -d)
  trap 'rm -rf "$tools"' EXIT
  if ! "$PYTHON" -m pip --version >/dev/null 2>&1; then
    "$PYTHON" -m venv "$tools" || {
      echo "pip is missing for $PYTHON: apt-get install python3-venv, or use BUNDLE=no with the packages in README" >&2
      exit 1
    }
    pip="$tools/bin/python"
  else
    pip=$PYTHON
  fi
  "$pip" -m pip --quiet install --no-compile --target "$target" --requirement "$here/bundle.txt"
  rm -rf "${target:?}/bin"
fi

if [ "$BUNDLE" = no ]; then
  "$PYTHON" -c 'import elftools, jeepney, jsonschema, pyudev, toml, tomlkit, yaml' ||
    echo "warning: $PYTHON does not have all libraries; README names the packages" >&2
fi

"$PYTHON" -m compileall -q -o 0 "$target" || true
"$PYTHON" -I "$here/create_path.py" "$target"
chmod -R u=rwX,go=rX "$target"
