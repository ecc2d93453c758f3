"""Pure rules: no files, no processes. What a spec asks for, how runtimes read device rules, what has to change."""
