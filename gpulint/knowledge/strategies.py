"""Distribution strategies, as TensorFlow 2.16 and 2.21 have them."""

from __future__ import annotations

from gpulint.knowledge.facts import Fact, Initialises, Kind

_PREFIX = "tensorflow.distribute."


def _strategy(detail: str, *params: str, initialises: Initialises = Initialises.YES) -> Fact:
    return Fact(Kind.STRATEGY, params, initialises, detail)


STRATEGIES = {
    _PREFIX + "MirroredStrategy": _strategy("mirrored", "devices", "cross_device_ops"),
    _PREFIX + "MultiWorkerMirroredStrategy": _strategy("multi_worker", "cluster_resolver", "communication_options"),
    _PREFIX + "CentralStorageStrategy": _strategy("central_storage", "compute_devices", "parameter_device"),
    _PREFIX + "ParameterServerStrategy": _strategy("parameter_server", "cluster_resolver", "variable_partitioner"),
    _PREFIX + "TPUStrategy": _strategy("tpu", "tpu_cluster_resolver", "experimental_device_assignment"),
    _PREFIX + "OneDeviceStrategy": _strategy("one_device", "device"),
    _PREFIX + "get_strategy": _strategy("default", initialises=Initialises.NO),
}
"""Canonical name → fact. `detail` is the kind of strategy that rules refer to."""
