"""The engine's core: variables, nodes, dispatch between the modes, and the one gradient walk. No op is defined here."""
