"""Finds the training step of the program, writes its graph and ends the program before the step runs."""

from __future__ import annotations

import functools
import gc
import inspect
import json
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from types import CodeType
from typing import Any, NamedTuple, NoReturn

from gpulint.estimate.agent.eager import steps_around
from gpulint.estimate.agent.fits import later
from gpulint.estimate.agent.graphs import Captured, Read, Reader
from gpulint.estimate.agent.inference import Shape
from gpulint.estimate.agent.lifting import lifted
from gpulint.estimate.agent.names import GRADIENT, UPDATES, mentions, names_in
from gpulint.estimate.agent.opened import (
    Empty,
    Shapes,
    Unknown,
    batch_of,
    is_iterator,
    opened,
    parameters,
    parts,
    tensors_in,
)
from gpulint.estimate.agent.pieces import Pieces
from gpulint.estimate.agent.places import GENERATED, Layers, Sources
from gpulint.estimate.agent.sessions import trains
from gpulint.estimate.agent.turns import Turns
from gpulint.estimate.agent.variables import Inventory
from gpulint.estimate.graph import INPUTS, Argument, StepGraph, Tensor, Variable
from gpulint.probe.agent.places import Place, Places

_TAPES = frozenset({"GradientTape", "gradients", "minimize", "apply_gradients"})
FIT = "fit"
"""Name of Keras's training step."""


@dataclass(frozen=True)
class Settings:
    """Options from the parent: `output`, the file to write; `stages`, one to which what is done now is appended;
    `batch`, a batch size per replica in place of the program's; `shapes`, dimensions that the program leaves open;
    `gpus`, the number of GPUs."""

    output: str
    stages: str
    batch: int | None = None
    shapes: Shapes | None = None
    gpus: int = 1


class Trace(NamedTuple):
    """A traced function, and whether it was traced for any batch; None if it cannot be."""

    concrete: Any
    is_general: bool | None
    is_own: bool = False
    """Whether the program itself traces it for any batch, as `fit` does."""


class StepWatch:
    """Examines each function that Python calls, before its first run."""

    def __init__(
        self,
        settings: Settings,
        places: Places,
        device_of: Callable[[str], str],
        tracing: Callable[[], AbstractContextManager[None]],
        reading: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """`device_of` translates a device of the runtime to the program's; `tracing` is a context in which operations
        are traced for real GPUs, `reading` one in which imported graphs keep the devices that they name."""
        self.settings, self.places, self._seen, self._tracing = settings, places, device_of, tracing
        self.reading = reading
        self.pieces = Pieces()
        self._tensorflow = self.pieces.tensorflow
        self.layers = Layers(self.pieces)
        self._turns = Turns()

    def install(self) -> None:
        """Wraps calls of functions, of gradients and of sessions."""
        tensorflow = self._tensorflow
        session = self.pieces.session.BaseSession
        run = session.run
        function, tape = self.pieces.functions.Function, self.pieces.backprop.GradientTape
        call, gradient = function.__call__, tape.gradient

        @functools.wraps(call)
        def called(made: Any, *arguments: Any, **keywords: Any) -> Any:
            is_traced = tensorflow.executing_eagerly() and not made._run_functions_eagerly
            if not is_traced or not self._turns.begin(lambda: mentions(made.python_function, _TAPES)):
                return call(made, *arguments, **keywords)
            error = self._look(made, arguments, keywords)
            try:
                return call(made, *arguments, **keywords)
            except Exception:
                if error is None:
                    raise
                raise error from None  # what a second trace reports is a consequence of the first

        @functools.wraps(gradient)
        def differentiated(made: Any, *arguments: Any, **keywords: Any) -> Any:
            if tensorflow.executing_eagerly() and self._turns.begin(lambda: True):
                self._eager(sys._getframe(1))
            return gradient(made, *arguments, **keywords)

        @functools.wraps(run)
        def ran(made: Any, fetches: Any, *arguments: Any, **keywords: Any) -> Any:
            if trains(made.graph, tensorflow.nest.flatten(fetches)):
                self._stop("session", "", self.places.here())
            return run(made, fetches, *arguments, **keywords)

        function.__call__, tape.gradient, session.run = called, differentiated, ran

    def device_of(self, device: str) -> str:
        """The program's short name, as `GPU:0`, of a device of the runtime; "" where only a process is named, as for
        `tf.numpy_function`."""
        _, found, name = self._seen(device).rpartition("device:")
        return name if found else ""

    def _begin(self, stage: str) -> None:
        """Tell the parent what is done from now on."""
        with suppress(OSError), open(self.settings.stages, "a", encoding="utf-8") as file:
            file.write(f"{stage}\n")

    # ------------------------------------------------------------------ finding the step

    def _look(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Exception | None:
        """Trace a function before it is called. Returns the error if that fails: the call may not need the trace."""
        try:
            with self._tracing(), self.layers.noted(), lifted(self.pieces), self._unobserved():
                may_train = mentions(function.python_function, _TAPES)
                if may_train:
                    self._begin(f"tracing {_name(function)}")
                try:
                    trace = self._traced(function, arguments, keywords, may_train)
                except Exception as error:
                    try:
                        if not self._initialized(function):
                            return error
                        trace = self._traced(function, arguments, keywords, may_train)
                    except Exception:
                        return error
                if not takes_gradients(trace.concrete.graph):
                    return None
                place = self.places.of_function(function.python_function) or self.places.here()
                self._write(_name(function), place, function, trace, arguments, keywords)
        finally:
            self._turns.end()

    def _traced(self, function: Any, arguments: Sequence[Any], keywords: Mapping[str, Any], may_train: bool) -> Trace:
        """The function for its arguments; if it may train, for any batch."""
        batch = batch_of(self.pieces, (arguments, keywords), may_take=False) if may_train else None
        if batch is not None and not self.settings.shapes:
            with suppress(Exception):  # it needs its batch size
                types = opened(self.pieces, [list(arguments), dict(keywords)], batch, {})
                return Trace(self._again(function).get_concrete_function(*types[0], **types[1]), True)
            return Trace(function.get_concrete_function(*arguments, **keywords), None)
        concrete = function.get_concrete_function(*arguments, **keywords)
        is_general = not self.settings.shapes and _is_general(concrete)
        return Trace(concrete, is_general, is_general)

    def _again(self, function: Any) -> Any:
        """A new function of the same code, without traces. The old one would use a more general trace again, and cannot
        be traced any more after a trace has failed."""
        return self._tensorflow.function(
            function.python_function, autograph=function._autograph, jit_compile=function._jit_compile
        )

    @contextmanager
    def _unobserved(self) -> Iterator[None]:
        """A context in which nothing looks at single operations: the probe does, and takes its time."""
        callbacks = self.pieces.context.context().op_callbacks
        kept = list(callbacks)
        callbacks.clear()
        try:
            yield
        finally:
            callbacks[:] = kept

    def _initialized(self, function: Any) -> bool:
        """Gives variables of a training step values, where those of its own are computed in the step: replicas copy
        them from the first one, which leaves nothing to run before the step. Returns whether there are any."""
        traced = getattr(function, "_concrete_variable_creation_fn", None)
        if traced is None or not takes_gradients(traced.graph):
            return False
        variables = [one for one in (reference() for reference in function._created_variables or ()) if one is not None]
        for one in variables:
            one.assign(self._tensorflow.zeros(one.shape, one.dtype))
        return bool(variables)

    def _eager(self, frame: Any) -> None:
        """A gradient is taken eagerly: the innermost function around it that can be traced is the step."""
        failed = ""
        try:
            with self._tracing(), self.layers.noted(), lifted(self.pieces), self._unobserved():
                for step in steps_around(frame, self.places.is_foreign):
                    self._begin(f"tracing {step.name}")
                    try:
                        function = self._tensorflow.function(step.python, autograph=step.can_convert)
                        trace = self._traced(function, step.arguments, step.keywords, may_train=True)
                    except Exception as error:
                        failed = failed or _first_line(error)
                        continue
                    if takes_gradients(trace.concrete.graph):
                        place = self.places.at(step.frame.f_code.co_filename, step.row)
                        self._write(step.name, place, function, trace, step.arguments, step.keywords, is_eager=True)
            self._stop("eager", failed, self.places.of_frame(frame))
        finally:
            self._turns.end()

    # -------------------------------------------------------------------------- writing

    def _write(
        self,
        name: str,
        place: Place | None,
        function: Any,
        trace: Trace,
        arguments: Sequence[Any],
        keywords: Mapping[str, Any],
        is_eager: bool = False,
    ) -> NoReturn:
        self._begin(f"optimizing the graph of {name}")
        others = self._others(function)
        try:
            graphs = self._graphs(name, place, function, trace, arguments, keywords, is_alone=not others)
        except Unknown as error:
            self._stop("dynamic", str(error), place)
        except Empty as error:
            self._stop("untraceable", str(error), place)
        except Exception as error:
            self._stop("untraceable", f"{type(error).__name__}: {_first_line(error)}", place)
        loop = None
        if name == FIT:
            follow = later(sys._getframe(1), self.places.is_foreign)
            others += [(FIT, self.places.at(*one)) for one in follow.calls]
            loop = self.places.at(*follow.loop) if follow.loop is not None else None
        head = {
            "outcome": "eager step" if is_eager else "step",
            "graphs": len(graphs),
            "others": others,
            "loop": loop,
        }
        self._finish([json.dumps(head), *(graph.dumps() for graph in graphs)])

    def _others(self, step: Any) -> list[tuple[str, Place]]:
        """Functions of the program that take gradients, too, and are not called by the step: name and place."""
        traced, found = set(), {}
        for one in gc.get_objects():
            if type(one) is not self.pieces.functions.Function:
                continue
            code = getattr(inspect.unwrap(one.python_function), "__code__", None)
            if one is step or one._variable_creation_config is not None:
                traced.add(code)  # by code: each instance has its own function for a method
            elif isinstance(code, CodeType) and names_in(code) & _TAPES:
                found[code] = self.places.of_function(one.python_function)
        others = {place: code.co_name for code, place in found.items() if place is not None and code not in traced}
        return [(name, place) for place, name in sorted(others.items())]

    def _graphs(
        self,
        name: str,
        place: Place | None,
        function: Any,
        trace: Trace,
        arguments: Sequence[Any],
        keywords: Mapping[str, Any],
        is_alone: bool,
    ) -> list[StepGraph]:
        """The step for its batch size, and for twice as many examples. It is traced once with the batch left open, and
        for each size only if it cannot be or if that leaves shapes open."""
        found = batch_of(self.pieces, (arguments, keywords))
        batch = self.settings.batch or found or _batch_inside(trace.concrete)
        if found == 0 and batch is None:
            raise Empty("its batch has no examples")
        given = self.settings.shapes or {}
        names = parameters(function.python_function, arguments)
        within = [*zip(names, arguments, strict=True), *keywords.items()]
        known = [one for at, argument in within for one in tensors_in(argument, at)]
        if strange := sorted(given.keys() - set(known)):
            tensors = ", ".join(dict.fromkeys(known)) or "none by a name"
            self._stop("untraceable", f"--shape names {', '.join(strange)}, but its tensors are {tensors}", place)
        elements = next((list(tensors_in(one)) for _, one in within if is_iterator(one)), [])
        reading = functools.partial(_Reading, self, name, place, bool(function._jit_compile), is_alone, elements)
        if batch is None:  # the data has no batch: tensors that the step captures can hold a graph's nodes
            whole = reading(trace.concrete).graph(None)
            if whole.has_unknown:
                raise Unknown("its batch size")
            return [whole]

        def traced(size: int | None) -> Any:
            types = [opened(self.pieces, one, found, given, size, at) for at, one in zip(names, arguments, strict=True)]
            named = opened(self.pieces, keywords, found, given, size)
            return self._again(function).get_concrete_function(*types, **named)

        general = trace.concrete if trace.is_general else None
        if trace.is_general is False:
            with suppress(Exception):  # it needs its batch size
                general = traced(None)
        if general is None:
            exact = trace.concrete if batch == found else traced(batch)
            graphs = [reading(exact).graph(batch)]
            with suppress(Exception):  # another tensor in the step has the size of the batch
                graphs.append(reading(traced(2 * batch)).graph(2 * batch))
            return graphs
        opened_once = reading(general, trace.is_own)
        graphs, sizes = [opened_once.graph(batch)], [batch]
        if opened_once.is_open:
            with suppress(ValueError):
                graphs.append(opened_once.graph(2 * batch))
                sizes.append(2 * batch)
        if any(graph.has_unknown and not graph.unknown for graph in graphs):
            with suppress(Exception):
                return [reading(traced(size)).graph(size) for size in sizes]
        return graphs

    # --------------------------------------------------------------------------- ending

    def _stop(self, outcome: str, reason: str, place: Place | None) -> NoReturn:
        where = list(place) if place is not None else None
        self._finish([json.dumps({"outcome": outcome, "reason": reason, "where": where})])

    def _finish(self, lines: list[str]) -> NoReturn:
        """Ends the process at once: nothing has been trained, so nothing that follows may be run or saved."""
        part = f"{self.settings.output}.part"
        with open(part, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        os.replace(part, self.settings.output)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        for name, module in list(sys.modules.items()):
            if name.startswith(GENERATED):  # AutoGraph deletes its files when Python exits
                with suppress(OSError):
                    os.unlink(str(module.__file__))
        os._exit(0)


class _Reading:
    """A traced step and what belongs to it, to be read for several batch sizes."""

    def __init__(
        self,
        watch: StepWatch,
        name: str,
        place: Place | None,
        is_compiled: bool,
        is_alone: bool,
        elements: Sequence[str],
        concrete: Any,
        is_own: bool = False,
    ) -> None:
        """`is_compiled`: whether XLA compiles the whole function, which its graph does not say. `is_alone`: whether no
        other function of the program takes gradients. `elements`: names of the tensors in an element of the dataset
        that the function is given. `is_own`: whether the program itself traces it for any batch."""
        self._elements, self._is_alone = elements, is_alone
        self._name, self._place, self._concrete = name, place, concrete
        self._is_compiled, self._context = is_compiled, watch.reading
        self._device_of = watch.device_of
        self._inventory = Inventory()
        known = self._inventory.known
        captured = {placeholder.op.name: known.get(id(outer)) for outer, placeholder in concrete.graph.captures}
        self._captured = {name: one for name, one in captured.items() if one is not None}
        self._reader = Reader(
            watch.pieces,
            concrete,
            [Captured(name, one.variable.dtype.base_dtype, one.variable.shape) for name, one in self._captured.items()],
            watch.device_of,
            Sources(concrete.graph, watch.places, watch.layers.scopes, place if name == FIT else None),
            watch.settings.gpus,
            is_own or is_compiled,
        )
        self._inputs = [tensor for tensor in concrete.graph.inputs if tensor.op.name not in captured]
        self._parts = parts(watch.pieces, concrete)
        self._kept = [inner for outer, inner in concrete.graph.captures if inner.op.name not in self._captured]
        self.is_open = (
            any(_open(tensor) for tensor in self._inputs)
            or _has_open_elements(concrete)
            or self._reader.has_open_elements
        )
        """Whether the batch was left open."""

    def graph(self, batch: int | None) -> StepGraph:
        """The step for a batch size, None if nothing in it has one."""
        shapes: dict[str, Shape] = {}
        for tensor in self._inputs:
            if tensor.dtype.base_dtype.name not in ("resource", "variant") and tensor.shape.rank:
                shape = tuple(tensor.shape.as_list())
                shapes[tensor.op.name] = _sized(shape, None if tensor.op.name in self._parts else batch)
        with self._context():
            read = self._reader.read(shapes, lambda shape: _sized(shape, batch))
        parameters = {operation: index for index, operation in enumerate(read.body.parameters)}
        updated = self._updated(read)
        trained = self._inventory.trained() & updated
        self._build_optimizers(self._updates(read), updated)
        filename, row, *cell = self._place or ("", 0)
        return StepGraph(
            name=self._name,
            filename=filename,
            row=row,
            cell=cell[0] if cell else None,
            body=read.body,
            functions=read.functions,
            variables=(*self._variables(read, parameters, trained), *self._tensors(read, parameters)),
            arguments=tuple(_arguments(read, parameters, shapes)),
            batch=batch,
            replicas=max((one.copies for one in self._captured.values()), default=1),
            is_in_loop=read.is_in_loop,
            is_compiled=self._is_compiled or read.is_compiled,
            is_optimized=read.is_optimized,
            precision=_policy(),
            unknown=tuple(dict.fromkeys(_unknown(read, self._elements, self._parts))),
        )

    def _updates(self, read: Read) -> bool:
        """Whether the step updates weights; in functions that it calls, whether it updates anything."""
        weights = {read.names.get(name) for name, one in self._captured.items() if one.is_trainable}
        updates = (one for one in read.body.operations if one.type.startswith(UPDATES))
        return any(one.inputs[0].operation in weights for one in updates) or any(
            one.type.startswith(UPDATES) for function in read.functions.values() for one in function.operations
        )

    def _updated(self, read: Read) -> set[int]:
        """Identities of the handles of variables that the step's own operations update."""
        operations = {one.inputs[0].operation for one in read.body.operations if one.type.startswith(UPDATES)}
        return {id(one.variable.handle) for name, one in self._captured.items() if read.names.get(name) in operations}

    def _build_optimizers(self, updates: bool, updated: Collection[int]) -> None:
        """Creates the slots of optimizers that the step leaves to the program: all of them if it does not update
        weights, such as while gradients are accumulated; else those of the only optimizer of another step, which is
        taken to train what no optimizer trains yet, and the step does not update."""
        optimizers = self._inventory.optimizers
        unbuilt = [one for one in optimizers if not getattr(one, "built", True)]
        weights = list(self._concrete.graph.trainable_variables)
        if updates:
            found = self._inventory.untrained() if len(unbuilt) == 1 and not self._is_alone else []
            weights = [one for one in found if id(one.handle) not in updated]
        if unbuilt and weights:
            for optimizer in unbuilt:
                optimizer.build(weights)
            self._inventory = Inventory()

    def _tensors(self, read: Read, parameters: Mapping[int, int]) -> Iterator[Variable]:
        """Tensors that the function captures: the program keeps them on the GPU as it does variables."""
        for tensor in self._kept:
            size = Tensor(tensor.dtype.base_dtype.name, tuple(tensor.shape.as_list()) if tensor.shape.rank else ())
            if size.dtype not in ("resource", "variant", "string", "int32"):  # those are on the host
                entered = parameters.get(read.names.get(tensor.op.name, -1))
                yield Variable("", size, parameter=entered)

    def _variables(self, read: Read, parameters: Mapping[int, int], trained: Collection[int]) -> Iterator[Variable]:
        """`trained`: identities of the handles of what the step trains; empty if its optimizer does not tell."""
        entered = {id(one.variable.handle): name for name, one in self._captured.items()}
        for identity, one in self._inventory.known.items():
            operation = read.names.get(entered.get(identity, ""))
            variable = one.variable
            shape = variable.shape
            yield Variable(
                name=str(variable.name).partition(":")[0],
                tensor=Tensor(variable.dtype.base_dtype.name, None if shape.rank is None else tuple(shape.as_list())),
                group=one.group,
                is_trainable=one.is_trainable and (not trained or identity in trained),
                parameter=None if operation is None else parameters.get(operation),
                layer=one.layer,
                device=self._device_of(str(variable.device)),
                copies=one.copies,
            )


def takes_gradients(graph: Any) -> bool:
    """Whether a graph, or a function that it calls, computes gradients."""
    return _has(graph, lambda one: GRADIENT.search(one.name) is not None)


def _has(graph: Any, test: Callable[[Any], bool]) -> bool:
    seen: set[str] = set()

    def within(one: Any) -> bool:
        for operation in one.get_operations():
            if test(operation):
                return True
            for value in operation.node_def.attr.values():
                name = value.func.name if value.WhichOneof("value") == "func" else ""
                if name and name not in seen:
                    seen.add(name)
                    try:
                        inner = one._get_function(name).graph
                    except (AttributeError, KeyError, ValueError):
                        continue
                    if within(inner):
                        return True
        return False

    return within(graph)


def _name(function: Any) -> str:
    """A step's name as users know it."""
    python = inspect.unwrap(function.python_function)
    code = getattr(python, "__code__", None)
    is_of_keras = code is not None and f"{os.sep}keras{os.sep}" in code.co_filename
    return FIT if is_of_keras else str(getattr(python, "__name__", function.name))


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def _open(tensor: Any) -> bool:
    return bool(tensor.shape.rank and tensor.shape[0] is None)


def _is_general(concrete: Any) -> bool:
    """Whether a trace already leaves the batch open wherever it enters, as that of `fit` does."""
    captured = {id(placeholder) for _, placeholder in concrete.graph.captures}
    given = [tensor for tensor in concrete.graph.inputs if id(tensor) not in captured and tensor.shape.rank]
    return all(_open(tensor) for tensor in given) if given else _has_open_elements(concrete)


def _has_open_elements(concrete: Any) -> bool:
    def is_open(operation: Any) -> bool:
        if operation.type not in ("IteratorGetNextAsOptional", *INPUTS):
            return False
        shapes = operation.get_attr("output_shapes")
        return any(not one.unknown_rank and one.dim and one.dim[0].size < 0 for one in shapes)

    return _has(concrete.graph, is_open)


def _batch_inside(concrete: Any) -> int | None:
    """The batch size of a dataset that is iterated inside of the step, if its elements say it."""
    found: list[int] = []

    def look(operation: Any) -> bool:
        if operation.type in INPUTS:
            for shape in operation.get_attr("output_shapes"):
                if not shape.unknown_rank and shape.dim and shape.dim[0].size > 0:
                    found.append(shape.dim[0].size)
        return False

    _has(concrete.graph, look)
    return found[0] if found else None


def _sized(shape: Shape, batch: int | None) -> Shape:
    """A shape with its open leading dimension set to the batch."""
    return (batch, *shape[1:]) if shape and shape[0] is None else shape


def _arguments(read: Read, parameters: Mapping[int, int], shapes: Mapping[str, Shape]) -> Iterator[Argument]:
    for name in shapes:
        if (operation := read.names.get(name)) is not None:
            yield Argument(name, read.body.operations[operation].outputs[0], parameters.get(operation))
    for function in (read.body, *read.functions.values()):
        for one in function.operations:
            if one.type in INPUTS:
                for index, tensor in enumerate(one.outputs):
                    yield Argument(f"{one.name}:{index}", tensor)


def _unknown(read: Read, elements: Sequence[str], parts: Collection[str]) -> Iterator[str]:
    """Names of what enters the step with a dimension that is still open, as `--shape` takes them: no `parts` of ragged
    and sparse tensors."""
    for one in read.body.operations:
        if (one.type == "_Arg" and one.name not in parts) or one.type in INPUTS:
            for index, tensor in enumerate(one.outputs):
                if tensor.bytes is None:
                    for position, size in enumerate(tensor.shape or ()):
                        if size is None:
                            element = elements[index] if index < len(elements) else str(index)
                            yield f"{one.name if one.type == '_Arg' else element}[{position}]"


def _policy() -> str:
    keras = sys.modules.get("keras") or sys.modules.get("tf_keras")
    try:
        return str(keras.mixed_precision.global_policy().name)  # type: ignore[union-attr]
    except AttributeError:
        try:
            return str(keras.mixed_precision.dtype_policy().name)  # type: ignore[union-attr]
        except AttributeError:
            return "float32"
