"""Registration with container engines: one module per engine, and what they share."""
