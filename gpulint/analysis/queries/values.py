"""Kinds of values, for rules."""

from __future__ import annotations

from gpulint.analysis.domain.context import Object, Strategy
from gpulint.analysis.domain.values.base import (
    Arguments,
    Constant,
    LibraryName,
    PartialString,
    Union,
    Unknown,
    Value,
    known,
    symbol_of,
)
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.datasets import Batch, Dataset, Step
from gpulint.analysis.domain.values.devices import DeviceList, ListedDevice
from gpulint.analysis.domain.values.effects import Effect
from gpulint.analysis.domain.values.functions import Bound, Function, Partial, Traced, UserClass, function_of
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.domain.values.object_facts import ObjectFact
from gpulint.analysis.domain.values.objects import Layer, Loss, Metric, Model, Optimizer, Tape, Variable
from gpulint.analysis.domain.values.tensors import Gradient, PerReplica, Reduced, Summand, Tensor

__all__ = [
    "Arguments",
    "Batch",
    "Bound",
    "Constant",
    "Dataset",
    "DeviceList",
    "Effect",
    "Function",
    "Gradient",
    "Instance",
    "Items",
    "Layer",
    "LibraryName",
    "ListedDevice",
    "Loss",
    "Mapping",
    "Metric",
    "Model",
    "Object",
    "ObjectFact",
    "Optimizer",
    "Partial",
    "PartialString",
    "PerReplica",
    "Reduced",
    "Step",
    "Strategy",
    "Summand",
    "Tape",
    "Tensor",
    "Traced",
    "Union",
    "Unknown",
    "UserClass",
    "Value",
    "Variable",
    "function_of",
    "known",
    "symbol_of",
]
