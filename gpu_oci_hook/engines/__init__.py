"""One module per container engine: read its configuration, register, unregister."""
