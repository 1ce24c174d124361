"""Ways to look at graphs and runs: text, history, explanations. Nothing here is needed to compute."""
