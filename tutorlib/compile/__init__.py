"""Static mode: from symbols to a function that runs, with updates of shared variables."""
