"""tutorlib, static mode, with what a C compiler makes faster compiled: ``mode="c"``."""

from adapters import tutorlib_static

NAME = "tutorlib static, C"
version = tutorlib_static.version


def build(d):
    return tutorlib_static.build(d, mode="c")


def float32_everywhere(d):
    return tutorlib_static.float32_everywhere(d)
