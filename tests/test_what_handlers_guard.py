"""A handler guards what is called in its `try` only if the program can go on after it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checking import codes_in

RESET = """
import os
import sys
import unittest

import tensorflow as tf

log = print


class Failed(Exception):
    pass


def count(values):
    mean = tf.keras.metrics.Mean()
    for value in values:
        mean.update_state(value)
    mean.reset_states()


def counted(values):
    try:
        count(values)
    {handler}


counted([1.0])
"""

END_WITH_ERROR = [
    "except Exception:\n        raise",
    "except AttributeError as error:\n        log(error)\n        raise error",
    "except Exception as error:\n        raise Failed('no count') from error",
    "except:\n        log('no count')\n        sys.exit(1)",
    "except Exception as error:\n        os._exit(2)",
    "except Exception as error:\n        if values:\n            raise\n        else:\n            exit(str(error))",
    "except Exception:\n        try:\n            log(values)\n        finally:\n            raise",
    "except (AttributeError, ValueError):\n        raise\n    except KeyError:\n        raise Failed()",
    "except KeyboardInterrupt:\n        log('stopped')",
    "except (ValueError, OSError) as error:\n        log(error)",
]

GO_ON = [
    "except Exception:\n        log('no count')",
    "except AttributeError:\n        return None",
    "except ERRORS:\n        return None",
    "except (ValueError, *others()):\n        return None",
    "except (ValueError, BaseException):\n        return None",
    "except Exception:\n        if len(values) > 1:\n            return 0\n        raise",
    "except Exception as error:\n        if 'reset' not in str(error):\n            raise",
    "except KeyError:\n        raise\n    except AttributeError:\n        pass",
    "except Exception:\n        try:\n            raise\n        except Exception:\n            log('no count')",
    "except Exception:\n        for value in values:\n            return value\n        raise",
    "except AttributeError:\n        raise unittest.SkipTest('old names')",
    "except Exception:\n        raise\n    finally:\n        return None",
]


@pytest.mark.parametrize("handler", END_WITH_ERROR)
def test_what_must_work_stands_in_a_try_that_ends_with_an_error(handler: str, tmp_path: Path) -> None:
    assert codes_in(RESET.format(handler=handler), tmp_path) == {"GPU901"}


@pytest.mark.parametrize("handler", GO_ON)
def test_what_may_fail_stands_in_a_try_after_which_the_program_goes_on(handler: str, tmp_path: Path) -> None:
    assert codes_in(RESET.format(handler=handler), tmp_path) == set()


WRAPPED = """
import functools

import tensorflow as tf


def shown(function):
    @functools.wraps(function)
    def inner(*given, **named):
        try:
            return function(*given, **named)
        except Exception as error:
            print(function.__name__, error)
            {end}

    return inner


@shown
def count(values):
    mean = tf.keras.metrics.Mean()
    mean.update_state(values)
    mean.reset_states()
"""


@pytest.mark.parametrize(("end", "codes"), [("raise", {"GPU901"}), ("return None", set())])
def test_a_decorator_guards_what_it_wraps_only_where_it_goes_on(end: str, codes: set[str], tmp_path: Path) -> None:
    assert codes_in(WRAPPED.format(end=end), tmp_path) == codes


OUTER = """
import tensorflow as tf


class Failed(Exception):
    pass


def count(values):
    try:
        mean = tf.keras.metrics.Mean()
        mean.update_state(values)
        mean.reset_states()
    except AttributeError as error:
        {inner}


try:
    count([1.0])
except {caught}:
    {outer}
"""

WITHIN = [
    ("raise", "Exception", "print('none')", set()),
    ("raise", "Exception", "raise", {"GPU901"}),
    ("raise Failed() from error", "Failed", "print('none')", set()),
    ("raise Failed() from error", "Failed", "raise", {"GPU901"}),
    ("exit(1)", "SystemExit", "print('none')", set()),
    ("print(error)", "Exception", "raise", set()),
]


@pytest.mark.parametrize(("inner", "caught", "outer", "codes"), WITHIN)
def test_what_is_raised_again_is_guarded_by_the_next_try_around_it(
    inner: str, caught: str, outer: str, codes: set[str], tmp_path: Path
) -> None:
    assert codes_in(OUTER.format(inner=inner, caught=caught, outer=outer), tmp_path) == codes


DEVICES = """
import os

os.environ["CUDA_VISIBLE_DEVICES"] = "0"
import tensorflow as tf

try:
    with tf.device("/gpu:1"):
        x = tf.zeros(4)
except RuntimeError as error:
    print(error)
    {end}
print("done")
"""


@pytest.mark.parametrize(("end", "codes"), [("raise", {"GPU107"}), ("x = None", set())])
def test_a_device_must_exist_where_its_error_is_raised_again(end: str, codes: set[str], tmp_path: Path) -> None:
    assert codes_in(DEVICES.format(end=end), tmp_path) == codes


def test_what_follows_an_import_that_has_to_succeed_is_not_guarded_by_it(tmp_path: Path) -> None:
    program = """
    try:
        import tensorflow as tf
    except ImportError:
        {end}

    mean = tf.keras.metrics.Mean()
    mean.reset_states()
    """
    assert codes_in(textwrap.dedent(program.format(end="raise SystemExit('install it')")), tmp_path) == {"GPU901"}


AFTER = """
import tensorflow as tf


def count(values):
    mean = tf.keras.metrics.Mean()
    try:
        rows = values.read()
    except {caught}:
        mean.reset_states()
        return None
    mean.update_state(rows)


count(open("rows.txt"))
"""


@pytest.mark.parametrize(
    ("caught", "codes"),
    [("OSError", {"GPU901"}), ("(KeyboardInterrupt, FileNotFoundError)", {"GPU901"}), ("TypeError", set())],
)
def test_what_is_done_after_an_error_of_the_system_must_work(caught: str, codes: set[str], tmp_path: Path) -> None:
    assert codes_in(AFTER.format(caught=caught), tmp_path) == codes


ARGUMENT = """
import tensorflow as tf

try:
    optimizer = tf.keras.optimizers.Adam(lr=0.001)
except {caught}:
    optimizer = tf.keras.optimizers.Adam(0.001)
"""


@pytest.mark.parametrize(
    ("caught", "codes"),
    [("ValueError", set()), ("TypeError", set()), ("Exception", set()), ("SystemExit", {"GPU901"})],
)
def test_an_argument_is_guarded_by_the_errors_that_it_raises(caught: str, codes: set[str], tmp_path: Path) -> None:
    assert codes_in(ARGUMENT.format(caught=caught), tmp_path) == codes
