"""Identifiers of programs about a subject, for `Rule.any_of_names`. Not covered by `VERSION`."""

from __future__ import annotations

from gpulint.knowledge.words import (
    CLUSTER_WORDS,
    CONFIG_WORDS,
    DATASET_SOURCES,
    DATASET_WORDS,
    DEVICE_NAMES,
    DEVICE_WORDS,
    ENVIRONMENT_WORDS,
    HOST_RANDOM_WORDS,
    MODEL_WORDS,
    OPTION_WORDS,
    POLICY_WORDS,
    PREPARING_WORDS,
    PYTHON_WORDS,
    STATEFUL_WORDS,
    STRATEGY_WORDS,
    TRAINING_WORDS,
)

__all__ = [
    "CLUSTER_WORDS",
    "CONFIG_WORDS",
    "DATASET_SOURCES",
    "DATASET_WORDS",
    "DEVICE_NAMES",
    "DEVICE_WORDS",
    "ENVIRONMENT_WORDS",
    "HOST_RANDOM_WORDS",
    "MODEL_WORDS",
    "OPTION_WORDS",
    "POLICY_WORDS",
    "PREPARING_WORDS",
    "PYTHON_WORDS",
    "STATEFUL_WORDS",
    "STRATEGY_WORDS",
    "TRAINING_WORDS",
]
