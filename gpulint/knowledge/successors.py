"""Successors of removed names that were not merely renamed.

The successors were tried on TensorFlow 2.21 with Keras 3.15 (`tests/knowledge/test_successors.py`).
"""

from __future__ import annotations

_LOADER = "pass it to the constructor of the `keras.utils.PyDataset` that is fitted"
_ELEMENTS = "use `dataset.element_spec`"
_NO_SESSIONS = (
    "remove the session and its `ConfigProto`; settings are functions of `tf.config`, such as "
    "`tf.config.experimental.set_memory_growth(gpu, True)` for `allow_growth`"
)
_WITH_TAPE = "take the gradients with `tf.GradientTape`, and pass them to `optimizer.apply_gradients`"
_IN_CALL = "pass `training=` to the model or layer"

SUCCESSORS = {
    "Variable.device": "use `variable.value.device`",
    "Variable.eval": "use `numpy()`",
    "Variable.read_value": "use `variable.value`",
    "_create_all_weights": "use `optimizer.build(variables)`",
    "_create_slots": "create them in `build`",
    "_decayed_lr": "read `optimizer.learning_rate`",
    "_get_hyper": "use an attribute of the optimizer",
    "_set_hyper": "set an attribute of the optimizer",
    "Optimizer.get_weights": "read `optimizer.variables`",
    "Optimizer.weights": "use `optimizer.variables`",
    "add_metric": "call `update_state` of a metric of the layer in its `call`",
    "add_update": "assign to the variable in `call`",
    "batch_input_shape": "begin the model with `keras.Input(batch_shape=…)`",
    "contrib": "look for the function in TensorFlow itself or in the package that it moved to",
    "CuDNNGRU": "use `tf.keras.layers.GRU`, which uses cuDNN automatically",
    "CuDNNLSTM": "use `tf.keras.layers.LSTM`, which uses cuDNN automatically",
    "estimator": "train a `tf.keras` model with `fit`",
    "evaluate_generator": "use `evaluate`, which takes generators",
    "experimental_make_numpy_dataset": "use `tf.data.Dataset.from_tensor_slices`",
    "experimental_run_v2": "use `run`",
    "fit_generator": "use `fit`, which takes generators",
    "fused": "remove it",
    "get_gradients": _WITH_TAPE,
    "get_input_at": "use `layer.input`",
    "get_output_at": "use `layer.output`",
    "get_scaled_loss": "use `scale_loss`",
    "get_session": _NO_SESSIONS,
    "get_shape": "use `shape`",
    "get_unscaled_gradients": "remove it: `apply_gradients` unscales them",
    "get_updates": _WITH_TAPE,
    "input_shape": "use `layer.input.shape`",
    "learning_phase": _IN_CALL,
    "lr": "use `learning_rate`",
    "make_initializable_iterator": "use `iter(dataset)`",
    "make_one_shot_iterator": "use `iter(dataset)`",
    "max_queue_size": _LOADER,
    "minimize": _WITH_TAPE,
    "mixed_precision.experimental": "use `tf.keras.mixed_precision`",
    "multi_gpu_model": "create the model in the scope of a `tf.distribute.MirroredStrategy`",
    "name by position": "pass it by keyword: `add_weight(name=…, shape=…)`",
    "optimizers.get_weights": "read `optimizer.variables`",
    "optimizers.weights": "use `optimizer.variables`",
    "output_classes": _ELEMENTS,
    "output_shape": "use `layer.output.shape`",
    "output_shapes": _ELEMENTS,
    "output_types": _ELEMENTS,
    "period": "use `save_freq`",
    "predict_classes": "use `predict(x).argmax(axis=-1)`",
    "predict_generator": "use `predict`, which takes generators",
    "predict_proba": "use `predict`",
    "reset_states": "use `reset_state`, of each recurrent layer where the model was reset",
    "scikit_learn": "use the package `scikeras`",
    "set_learning_phase": _IN_CALL,
    "set_session": _NO_SESSIONS,
    "time_major": "transpose the input, so that the batch comes first",
    "use_multiprocessing": _LOADER,
    "workers": _LOADER,
    "write_grads": "remove it",
}
"""Last part of a removed name, or of a module with it, or a removed argument → what to write instead."""


def successor(name: str) -> str | None:
    """Replacement for a removed name or argument (`function(argument)`); None if there is none."""
    path, _, argument = name.rstrip(")").partition("(")
    owner, _, last = path.rpartition(".")
    modules = owner.split(".")
    if argument:
        return SUCCESSORS.get(argument)
    for module in modules:
        if (found := SUCCESSORS.get(f"{module}.{last}")) is not None:
            return found
    return SUCCESSORS.get(last)
