"""The `tutorlib` command: one module for each sub-command. Nothing here computes graphs or checks exercises."""
