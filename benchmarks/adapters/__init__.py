"""One module an engine, with ``NAME``, ``version()`` and ``build(d)``: a function that does one training step of
workload ``d`` and returns the loss, and one that returns the parameters as NumPy arrays; None for a workload that the
engine does not do."""
