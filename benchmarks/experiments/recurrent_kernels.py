"""Which arguments of LSTM and GRU lose the cuDNN kernel?  (Asked of Keras itself; no GPU is needed.)

Keras 3.15 and 3.3: activation other than tanh, recurrent_activation other than sigmoid, use_bias=False,
unroll, recurrent_dropout, GRU's reset_after=False, use_cudnn=False; in 3.3 also dropout. Not: masks,
stateful, go_backwards, dtype, regularizers.
"""

from __future__ import annotations

import importlib
import os
from typing import Any
from unittest import mock

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("ABSL_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from keras.src import backend

rnn = importlib.import_module("keras.src.backend.tensorflow.rnn")  # the package has a function so named
ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"activation": "tanh"},
    {"activation": "relu"},
    {"activation": tf.tanh},
    {"activation": tf.nn.tanh},
    {"activation": keras.ops.tanh},
    {"activation": None},
    {"recurrent_activation": "sigmoid"},
    {"recurrent_activation": "hard_sigmoid"},
    {"recurrent_activation": tf.nn.sigmoid},
    {"use_bias": False},
    {"unroll": True},
    {"dropout": 0.2},
    {"recurrent_dropout": 0.2},
    {"reset_after": False},
    {"use_cudnn": False},
    {"use_cudnn": True},
    {"go_backwards": True},
    {"stateful": True},
    {"return_sequences": True},
    {"return_state": True},
    {"dtype": "float64"},
    {"dtype": "mixed_float16"},
    {"unit_forget_bias": False},
    {"kernel_regularizer": "l2"},
    {"implementation": 1},
]


def kernel(layer_type: type[keras.Layer], arguments: dict[str, Any], masked: bool = False) -> str:
    """``cuDNN`` when the layer would call the cuDNN kernel on a GPU, else ``generic`` or the error."""
    taken: list[bool] = []

    def reached(*_: Any, **__: Any) -> Any:
        taken.append(True)
        raise NotImplementedError  # as on a machine without the kernel: the layer takes the generic path

    with (
        mock.patch.object(rnn, "_is_gpu_available", return_value=True),
        mock.patch.object(rnn, "_cudnn_lstm", reached),
        mock.patch.object(rnn, "_cudnn_gru", reached),
    ):
        try:
            layer = layer_type(4, **arguments)
            x = tf.ones((2, 3, 4))
            layer(x, training=True, **({"mask": tf.constant([[True, True, False]] * 2)} if masked else {}))
        except (TypeError, ValueError) as error:
            if not taken:
                return type(error).__name__
    return "cuDNN" if taken else "generic"


def main() -> None:
    print(f"Keras {keras.__version__}, {backend.backend()}")
    print(f"{'arguments':44}{'LSTM':>12}{'GRU':>12}")
    for arguments in ARGUMENTS:
        text = ", ".join(f"{name}={getattr(value, '__name__', value)!r}" for name, value in arguments.items())
        columns = (kernel(kind, arguments) for kind in (keras.layers.LSTM, keras.layers.GRU))
        print(f"{text or 'defaults':44}" + "".join(f"{column:>12}" for column in columns))
    columns = (kernel(kind, {}, masked=True) for kind in (keras.layers.LSTM, keras.layers.GRU))
    print(f"{'a mask, right-padded':44}" + "".join(f"{column:>12}" for column in columns))
    no_gpu = keras.layers.LSTM(4, use_cudnn=True)
    try:
        no_gpu(np.ones((2, 3, 4), np.float32))
        print("use_cudnn=True with no GPU: runs")
    except ValueError as error:
        print("use_cudnn=True with no GPU:", str(error)[:110])


if __name__ == "__main__":
    main()
