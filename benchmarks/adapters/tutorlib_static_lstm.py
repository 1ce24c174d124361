"""W5 once more, static mode: the layer as one op, ``tl.lstm``."""

from adapters import tutorlib_static
from adapters.tutorlib_static import fused_lstm

NAME = "static, tl.lstm"
version = tutorlib_static.version


def build(d):
    return tutorlib_static.build(d, loss_of=fused_lstm) if d.name == "W5" else None
