"""W5 once more, dynamic mode: the layer as one op, ``tl.lstm``."""

from adapters import tutorlib_dynamic
from adapters.tutorlib_static import fused_lstm

NAME = "dynamic, tl.lstm"
version = tutorlib_dynamic.version


def build(d):
    return tutorlib_dynamic.build(d, loss_of=fused_lstm) if d.name == "W5" else None
