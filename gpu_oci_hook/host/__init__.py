"""The edge: everything that touches the machine, each path below a root."""
