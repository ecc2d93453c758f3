"""The administrator's commands: one module each, rendering for people and for programs."""
