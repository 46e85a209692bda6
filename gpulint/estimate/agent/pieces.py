"""The parts of TensorFlow that the trace needs, most of them private. Tested on 2.21."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Pieces:
    """The modules, imported once the program has imported TensorFlow. Raises ImportError if one is missing."""

    def __init__(self) -> None:
        self.tensorflow: Any = import_module("tensorflow")
        self.backprop: Any = import_module("tensorflow.python.eager.backprop")
        self.context: Any = import_module("tensorflow.python.eager.context")
        self.functions: Any = import_module("tensorflow.python.eager.polymorphic_function.polymorphic_function")
        self.session: Any = import_module("tensorflow.python.client.session")
        self.values: Any = import_module("tensorflow.python.distribute.values")
        self.ops: Any = import_module("tensorflow.python.framework.ops")
        self.dtypes: Any = import_module("tensorflow.python.framework.dtypes")
        self.errors: Any = import_module("tensorflow.python.framework.errors_impl")
        self.tensors: Any = import_module("tensorflow.python.framework.tensor_util")
        self.shapes: Any = import_module("tensorflow.python.framework.tensor_shape")
        self.handles: Any = import_module("tensorflow.python.ops.handle_data_util")
        self.importer: Any = import_module("tensorflow.python.framework.importer")
        self.from_definition: Any = import_module("tensorflow.python.framework.function_def_to_graph")
        self.cluster: Any = import_module("tensorflow.python.grappler.cluster")
        self.optimizer: Any = import_module("tensorflow.python.grappler.tf_optimizer")
        self.graph_proto: Any = import_module("tensorflow.core.framework.graph_pb2")
        self.types_proto: Any = import_module("tensorflow.core.framework.full_type_pb2")
        self.node_proto: Any = import_module("tensorflow.core.framework.node_def_pb2")
        self.config_proto: Any = import_module("tensorflow.core.protobuf.config_pb2")
        self.meta_proto: Any = import_module("tensorflow.core.protobuf.meta_graph_pb2")
        self.device_proto: Any = import_module("tensorflow.core.protobuf.device_properties_pb2")
