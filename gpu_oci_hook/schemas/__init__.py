"""JSON schemas: the part of config.json that we read, settings, and every --json output."""
