#!/bin/sh
# Finds the distribution packages that are missing, and installs them where that was asked for.
#   prerequisites.sh python          prints the interpreter to develop with
#   prerequisites.sh venv PYTHON     what making a virtual environment needs
#   prerequisites.sh demo            what make demo needs: installs it
#   prerequisites.sh lab [yes]       what the tests on a real systemd need
# Installs as root, on Debian and Ubuntu, when CI is set or "yes" was given; otherwise says which command to run.
set -eu

say() { echo "prerequisites: $*" >&2; }

# path in the system : Debian package
demo_parts="/lib/systemd/systemd:systemd
/lib/systemd/systemd-udevd:udev
/sbin/init:systemd-sysv
/usr/bin/dbus-daemon:dbus
/usr/sbin/runc:runc
/usr/bin/crun:crun
/bin/busybox:busybox-static
/usr/bin/nsenter:util-linux
/usr/bin/make:make
/usr/bin/python3:python3
/usr/bin/pip3:python3-pip"
lab_parts="$demo_parts
/usr/bin/podman:podman
/usr/bin/containerd:containerd
/usr/sbin/dockerd:docker.io
/usr/bin/shellcheck:shellcheck
/usr/bin/valgrind:valgrind
/usr/bin/strace:strace"

missing_packages() {
  for part in $1; do
    [ -e "${part%%:*}" ] || printf '%s ' "${part#*:}"
  done
}

install_packages() {
  if [ "$(id -u)" -ne 0 ]; then say "as root: apt-get install -y --no-install-recommends $1"; return 1; fi
  if ! command -v apt-get >/dev/null; then say "no apt-get here; install what brings these Debian packages: $1"; return 1; fi
  say "installing $1"
  apt-get update -qq || say "apt-get update failed; trying with the lists that are here"
  # --no-remove: Docker's own containerd.io conflicts with Debian's runc, and must not be taken away for a test.
  # shellcheck disable=SC2086 # one word for each package
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends --no-remove $1 >/dev/null
}

# The first python3 >= 3.9 that can make a virtual environment, or else the first >= 3.9.
find_python() {
  fallback=
  for name in python3 python3.14 python3.13 python3.12 python3.11 python3.10 python3.9 /usr/bin/python3; do
    path=$(command -v "$name") || continue
    "$path" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || continue
    if "$path" -c 'import ensurepip, venv' 2>/dev/null; then echo "$path"; return; fi
    fallback=${fallback:-$path}
  done
  echo "$fallback"
}

case ${1:-} in
  python) find_python ;;
  venv)
    if [ -z "${2:-}" ]; then say "no python3 >= 3.9 found; name one: make PYTHON=/path/to/python3"; exit 1; fi
    "$2" -c 'import ensurepip, venv' 2>/dev/null && exit 0
    package=$("$2" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    if [ -n "${CI:-}" ] && [ "$(id -u)" -eq 0 ]; then install_packages "$package"; exit; fi
    say "$2 cannot make a virtual environment; as root: apt-get install $package"
    exit 1
    ;;
  demo)
    packages=$(missing_packages "$demo_parts")
    [ -z "$packages" ] || install_packages "$packages"
    ;;
  lab)
    packages=$(missing_packages "$lab_parts")
    [ -n "$packages" ] || exit 0
    if [ -n "${CI:-}" ] || [ "${2:-}" = yes ]; then install_packages "$packages"; exit; fi
    say "tests on a real systemd will be skipped; missing: apt-get install $packages(or make test INSTALL=yes)"
    ;;
  *)
    sed -n '2,7s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
