"""Implementation of `LibrarySemantics`: the libraries that gpulint models."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.path_conditions import Path
from gpulint.analysis.domain.symbolic import symbol
from gpulint.analysis.domain.values.base import Arguments, Constant, LibraryName, Union, Unknown, Value, symbol_of
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.datasets import Dataset
from gpulint.analysis.domain.values.devices import DeviceList, ListedDevice
from gpulint.analysis.domain.values.functions import Bound, Function, Traced, UserClass
from gpulint.analysis.domain.values.managers import Manager
from gpulint.analysis.domain.values.objects import Model, Tape, Variable
from gpulint.analysis.domain.values.tensors import PerReplica, Tensor
from gpulint.analysis.engine.library import LibrarySemantics
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models import library_calls, library_methods, unknown_calls
from gpulint.analysis.models.python import decorators
from gpulint.analysis.models.tensorflow import (
    api_removals,
    built_later,
    classes,
    device_lists,
    escape,
    foreign_objects,
    gradients,
    host_sync,
    loss_reduction,
    object_calls,
    objects,
    ordering,
    retention,
    scope_managers,
    tensors,
    tf_data,
    tf_function,
)
from gpulint.analysis.models.tensorflow.device_runtime import environment_read, environment_set
from gpulint.analysis.plan.events import ContainerCleared, GlobalSizeUsed
from gpulint.knowledge import canonical, telling_words
from gpulint.knowledge.names import package_of
from gpulint.places import Site
from gpulint.syntax import ir


class Libraries(LibrarySemantics):
    """TensorFlow, Keras and the libraries that programs use with them."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.words = telling_words()

    # ------------------------------------------------------------------------- values

    def name(self, dotted: str, package: str = "") -> LibraryName:
        return LibraryName(canonical(dotted), package_of(dotted, package))

    def call_name(self, function: LibraryName, arguments: Arguments, site: Site) -> Value:
        return library_calls.call_name(self._machine, function, arguments, site)

    def call_method(self, receiver: Value, name: str, arguments: Arguments, site: Site) -> Value:
        return library_methods.call_library_method(self._machine, receiver, name, arguments, site)

    def call_value(self, function: Value, arguments: Arguments, site: Site) -> Value:
        if isinstance(function, Traced):
            return tf_function.call_traced(self._machine, function, arguments, site)
        if isinstance(function, Object):
            return object_calls.call_object(self._machine, function, arguments, site)
        return unknown_calls.call_unknown(self._machine, function, arguments, site)

    def call_traced(self, function: Traced, arguments: Arguments, site: Site, receiver: Value | None = None) -> Value:
        return tf_function.call_traced(self._machine, function, arguments, site, receiver)

    def instantiate(self, cls: UserClass, arguments: Arguments, site: Site) -> Value:
        return object_calls.instantiate(self._machine, cls, arguments, site)

    def instance_of(self, cls: LibraryName, site: Site) -> Value | None:
        return foreign_objects.instance_of(self._machine, cls, site)

    def annotated(self, unknown: Unknown, cls: LibraryName) -> None:
        if cls.name in tf_data.CLASSES:
            self._machine.library_state.datasets.add(unknown.symbol)

    def is_instance(self, value: Object, kind: Value) -> bool | None:
        return classes.is_instance(value, kind)

    def get_attribute(self, receiver: Value, name: str, node: ir.Node) -> Value | None:
        machine = self._machine
        if isinstance(receiver, (Tensor, PerReplica)):
            return objects.tensor_attribute(machine, receiver, name, node)
        if isinstance(receiver, ListedDevice):
            return device_lists.name_of(receiver) if name == "name" else None
        if isinstance(receiver, Traced) and name in ("python_function", "_python_function"):
            return receiver.function
        if isinstance(receiver, (Dataset, Traced)):
            return Bound(receiver, name)
        api_removals.unknown_attribute(machine, symbol_of(receiver), name, machine.site(node))
        known: Object | None = None
        if name == "optimizer":
            known = machine.library_state.models.get(symbol_of(receiver))
        elif name == "iterations":
            applies = symbol(("attribute", symbol_of(receiver), "apply_gradients"))
            known = machine.library_state.optimizers.get(applies)
        return machine.get_attribute(known, name, node) if known is not None else None

    def get_object_attribute(self, receiver: Object, name: str, node: ir.Node) -> Value:
        return objects.library_attribute(self._machine, receiver, name, node)

    def class_of(self, receiver: Object) -> Value | None:
        return objects.class_of(receiver)

    def get_unset_attribute(self, receiver: Object, name: str) -> Value | None:
        return built_later.attribute(receiver, name)

    def get_item(self, container: Value, key: Value, node: ir.Node) -> Value | None:
        if tf_data.is_several(container):
            return container
        if isinstance(container, DeviceList):
            return device_lists.item(container, key)
        if isinstance(container, Tensor):
            return tensors.item(self._machine, container, key, node)
        if isinstance(container, PerReplica):
            part = Tensor(self._machine.site(node))
            return PerReplica(container.site, container.strategy, part, from_data=container.from_data)
        if isinstance(container, LibraryName) and container.name == "os.environ":
            return environment_read(self._machine, key)
        return None

    def get_slice(self, container: Value, bounds: tuple[Value, ...], node: ir.Node) -> Value | None:
        if isinstance(container, DeviceList):
            return device_lists.part(container, bounds)
        if isinstance(container, Tensor):
            return tensors.part(self._machine, container, bounds, node)
        return None

    def set_item(self, container: Value, key: Value, value: Value, site: Site) -> Value | None:
        if isinstance(container, LibraryName) and container.name == "os.environ":
            environment_set(self._machine, key, value, site)
            return None
        if isinstance(container, PerReplica):
            # A dict of per-replica values that `run` returned is no longer one after the write.
            return Unknown(("updated", symbol_of(container), symbol_of(value)))
        escape.escape(self._machine, value, "stored", site)
        if host_sync.is_array(container):
            tensors.read_at(self._machine, value, "array", site)
        return host_sync.array_updated(container, value)

    def unpack(self, value: Value, index: int, site: Site) -> Value | None:
        if isinstance(value, Tensor):
            return tensors.unpacked(value, site)
        if isinstance(value, PerReplica):
            return PerReplica(value.site, value.strategy, Tensor(site), from_data=value.from_data)
        if isinstance(value, DeviceList):
            return ListedDevice(value, index)
        return value if tf_data.is_several(value) else None

    def iterate(self, iterable: Value, node: ir.Node) -> Value | None:
        if isinstance(iterable, Union):
            return gradients.element(iterable) or tf_data.element_of_any(self._machine, iterable, node)
        if isinstance(iterable, DeviceList):
            return ListedDevice(iterable, None)
        if isinstance(iterable, Dataset):
            return tensors.element_of(self._machine, iterable, node)
        if isinstance(iterable, Tensor):
            return tensors.row(self._machine, iterable, node)
        return iterable if isinstance(iterable, PerReplica) else None

    def element_of(self, value: Value, site: Site) -> Value | None:
        if isinstance(value, Dataset):
            return tensors.element_of(self._machine, value, ir.Pass(site.node))
        if isinstance(value, DeviceList):
            return ListedDevice(value, None)
        if isinstance(value, Union):
            return gradients.element(value)
        return value if isinstance(value, (Tensor, PerReplica)) else None

    def generated(self, element: Value) -> Value:
        return tensors.as_data(element)

    def in_iteration(self, element: Value, iteration: int) -> Value:
        if not isinstance(element, ListedDevice):
            return element
        return ListedDevice(element.list, element.index, iteration, element.chosen)

    def comprehended(self, element: Value) -> Value | None:
        if not isinstance(element, ListedDevice) or element.index is not None or element.chosen is not None:
            return None
        return element.list

    def operate(self, sign: str, operands: tuple[Value, ...], node: ir.Node) -> Value | None:
        machine = self._machine
        if len(operands) == 1:
            operand = tensors.as_number(operands[0])
            if isinstance(operand, (Tensor, Variable, PerReplica)):
                return tensors.apply_operator(machine, f"operator.{sign}", (operand,), node)
            return None
        left, right = operands
        if sign in ("/", "//") and isinstance(left, Constant) and _is_replica_count(right):
            machine.emit(GlobalSizeUsed(machine.site(node), machine.where(), left))
        left, right = tensors.beside_number(left, right), tensors.beside_number(right, left)
        if tensors.is_computed(left, right):
            return tensors.apply_operator(machine, f"operator.{sign}", (left, right), node)
        return left if isinstance(left, Dataset) and sign == "+" else None

    def update_in_place(self, target: Value, sign: str, value: Value, node: ir.Node) -> bool:
        if not isinstance(target, Variable):
            return False
        tensors.apply_operator(self._machine, f"operator.{sign}", (target, value), node)
        return True

    def compare(self, left: Value, sign: str, right: Value, node: ir.Node) -> Value | None:
        if sign in _ORDERS:
            left, right = tensors.beside_number(left, right), tensors.beside_number(right, left)
        if any(isinstance(side, Constant) and side.value is None for side in (left, right)):
            return None
        if any(isinstance(side, (Tensor, PerReplica, Variable)) for side in (left, right)):
            return tensors.compared(self._machine.site(node), left, right)
        return None

    def as_array(self, value: Value) -> Value:
        return host_sync.as_array(value)

    def convert(self, kind: str, value: Value, site: Site) -> Value | None:
        number = tensors.as_number(value)
        tensors.read_at(self._machine, number, kind, site)
        if not isinstance(number, Tensor):
            return None
        if number.static:
            return Unknown((kind, symbol_of(number)))
        return host_sync.host_value(site, kind) if not number.from_data else None

    def total(self, first: Value, values: tuple[Value, ...], site: Site) -> Value | None:
        if not isinstance(first, Tensor):
            return None
        return Tensor(site, reduced=loss_reduction.sum_of(values), gradient=gradients.by_op("tensorflow.add_n", values))

    def ordered(self, name: str, values: tuple[Value, ...], site: Site) -> Value | None:
        return ordering.ordered(self._machine, name, values, site)

    def decorate(self, decorator: Value, defined: Value, node: ir.Expr) -> Value:
        return decorators.decorate(self._machine, decorator, defined, node)

    def has_name(self, dotted: str, package: str) -> bool:
        return not api_removals.is_gone(self._machine, dotted, package)

    def any_member(self, module: LibraryName) -> LibraryName | None:
        return classes.any_member(module)

    def from_star(self, modules: Sequence[str], name: str) -> Value | None:
        return classes.from_star(modules, name)

    def enter(self, manager: Manager, site: Site) -> Value:
        return scope_managers.enter(self._machine, manager, site)

    def enter_unknown(self, manager: Value, site: Site) -> Value:
        return scope_managers.enter_unknown(self._machine, manager, site)

    def leave(self, manager: Manager) -> None:
        scope_managers.leave(self._machine, manager)

    def has_no_effect_on(self, body: Sequence[ir.Statement], manager: Value, site: Site) -> bool:
        return scope_managers.has_no_effect_on(self._machine, body, manager, site)

    def is_first(self, manager: Value) -> bool:
        return scope_managers.has_replicas(manager)

    def is_tracked(self, value: Value) -> bool:
        return isinstance(value, Tensor)

    def is_same_for_all(self, value: Value) -> bool:
        return isinstance(value, Tensor) and value.gradient is not None

    # ----------------------------------------------------------------------- observers

    def name_used(self, dotted: str, package: str, site: Site) -> None:
        api_removals.check_name(self._machine, dotted, package, site)

    def imported(self, dotted: str, site: Site) -> None:
        api_removals.check_import(self._machine, dotted, site)

    def function_called(self, function: Function, arguments: Arguments, result: Value, site: Site) -> None:
        host_sync.pass_to_function(self._machine, function, arguments, result, site)

    def method_called(self, receiver: Value, method: Value, arguments: Arguments, site: Site) -> None:
        host_sync.enter_method(self._machine, receiver, method)
        if isinstance(receiver, Model) and objects.is_own_call(self._machine, receiver, method):
            objects.model_used(self._machine, receiver, "call", arguments, site)

    def bound(self, value: Value) -> None:
        if isinstance(value, Tape):
            value.is_persistent = False

    def value_read(self, value: Value, how: str, place: ir.Node | Site) -> None:
        if how not in ("print", "format"):
            if isinstance(value, (Union, PerReplica, Tensor, Variable)):
                tensors.read_at(self._machine, value, how, self._site(place))
        elif not isinstance(value, Constant):
            tensors.read_all_at(self._machine, value, how, self._site(place))

    def _site(self, place: ir.Node | Site) -> Site:
        return place if isinstance(place, Site) else self._machine.site(place)

    def value_used(self, value: Value, site: Site) -> None:
        host_sync.use_host_value(self._machine, value, site)

    def loop_decided(self, guard: Path, site: Site) -> None:
        host_sync.decide_loop(self._machine, guard, site)

    def iterated(self, iterable: Value, how: str, site: Site, loop: Site | None) -> None:
        tf_data.consume(self._machine, iterable, how, site, loop)

    def yielded(self, value: Value, site: Site, exact: bool) -> None:
        if (work := self._machine.library_state.generator) is not None:
            work.yielded(self._machine.context.loops, exact)
        escape.escape(self._machine, value, "returned", site)

    def returned(self, value: Value, site: Site) -> None:
        escape.escape_returned(self._machine, value, site)

    def escaped(self, value: Value, how: str, site: Site) -> None:
        escape.escape(self._machine, value, how, site)

    def attribute_set(self, receiver: Object, name: str, value: Value, site: Site) -> None:
        escape.store_attribute(self._machine, receiver, name, value, site)

    def container_grown(self, container: Items | Mapping, value: Value, site: Site) -> None:
        retention.container_grown(self._machine, container, value, site)

    def container_cleared(self, container: Items | Mapping, site: Site) -> None:
        self._machine.emit(ContainerCleared(site, self._machine.where(), container))

    def collected(self, value: Value, site: Site) -> None:
        retention.models_kept(self._machine, value, site)

    def dropped(self, value: Value, call: ir.Call) -> None:
        scope_managers.dropped(self._machine, value, self._machine.site(call))
        tf_data.dropped(self._machine, value, call)

    def main_program_reached(self) -> None:
        state = self._machine.library_state
        if state.imported_with is None:
            state.imported_with = dict(state.configuration)


_ORDERS = frozenset({"<", "<=", ">", ">="})


def _is_replica_count(value: Value) -> bool:
    return isinstance(value, Unknown) and value.symbol.parts[0] == "replicas"
