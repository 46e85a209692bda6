"""Eager operations and tensors: hides the runtime's device names behind the calls into it."""

from __future__ import annotations

import threading
import weakref
from typing import Any, NamedTuple

from gpulint.probe.agent.hidden_frames import hidden
from gpulint.probe.agent.operation_records import SHARING
from gpulint.probe.agent.simulation.buffers import LARGE, Buffers
from gpulint.probe.agent.simulation.capacity import HOSTED, Capacity
from gpulint.probe.agent.simulation.kernels import Types
from gpulint.probe.agent.simulation.ledger import Ledger
from gpulint.probe.agent.simulation.names import Names
from gpulint.probe.agent.simulation.pieces import Pieces
from gpulint.probe.agent.simulation.placing import CallTypes, Placement, Placing

_VARIABLE = "VarHandleOp"
_ASSIGN = "AssignVariableOp"
_MEMORYLESS = frozenset({"resource", "variant", "string"})
"""Types whose tensors are handles, or stay in host memory."""


class _Fresh(NamedTuple):
    """A variable that was created and has no value yet."""

    handle: weakref.ref[Any]
    size: int


class _Call(threading.local):
    """The operation that this thread is in: its requested device and the runtime's name for it; then the variable
    that it just created."""

    asked: Any = ""
    real: Any = None
    fresh: _Fresh | None = None


class Eager:
    """Wraps the entry points of operations, constants and copies into the runtime."""

    def __init__(
        self, names: Names, placing: Placing, ledger: Ledger, capacity: Capacity, buffers: Buffers, pieces: Pieces
    ) -> None:
        self._names = names
        self._placing = placing
        self._ledger = ledger
        self._capacity = capacity
        self._buffers = buffers
        self._pieces = pieces
        self._types = CallTypes(placing, pieces)
        self._call = _Call()
        self._tensor = pieces.ops.EagerTensor
        self._device_of = self._tensor.device.__get__

    def install(self) -> None:
        """Installs all wrappers."""
        tfe = self._pieces.tfe
        tfe.TFE_Py_FastPathExecute = self._fast(tfe.TFE_Py_FastPathExecute)
        tfe.TFE_Py_Execute = self._slow(tfe.TFE_Py_Execute)
        tfe.TFE_Py_ExecuteCancelable = self._slow(tfe.TFE_Py_ExecuteCancelable)
        self._tensors()
        self._messages()
        self._asked_for()
        self._functions_of_python()

    # ------------------------------------------------------------------------- operations

    def _fast(self, execute: Any) -> Any:
        """`TFE_Py_FastPathExecute(context, op, name, *inputs, *attributes)` reads the thread's device itself."""
        call = self._call

        def fast(context: Any, op: str, name: Any, *arguments: Any) -> Any:
            if context._context_handle is None:
                context.ensure_initialized()
            state, inputs = context._thread_local_data, len(self._types.arguments(op))
            current, before = state.device_name, (call.asked, call.real)
            asked = call.asked if call.real is not None and current == call.real else current

            def types(attributes: tuple[str, ...]) -> Types:
                return self._types.of(op, attributes, arguments[:inputs], arguments[inputs:])

            placed = self._placing.place(op, types, asked or "")
            call.asked, call.real = asked, placed.device or current
            state.device_name = call.real
            try:
                result = execute(context, op, name, *arguments)
            finally:
                state.device_name = current
                call.asked, call.real = before
            self._note(op, placed, result, arguments[:inputs], arguments[inputs:])
            self._capacity.check_total(op)
            return result

        return hidden(fast)

    def _slow(self, execute: Any) -> Any:
        """`TFE_Py_Execute(handle, device, op, inputs, attributes, …)`."""

        def slow(handle: Any, device: str | None, op: Any, inputs: Any, attributes: Any, *rest: Any) -> Any:
            name = op.decode() if isinstance(op, bytes) else op

            def types(wanted: tuple[str, ...]) -> Types:
                return self._types.of(name, wanted, inputs, tuple(attributes or ()))

            placed = self._placing.place(name, types, device or "")
            result = execute(handle, placed.device or device, op, inputs, attributes, *rest)
            self._note(name, placed, result, inputs, attributes or ())
            self._capacity.check_total(name)
            return result

        return hidden(slow)

    # ---------------------------------------------------------------------------- tensors

    def _tensors(self) -> None:
        tensor, names, device_of, ledger = self._tensor, self._names, self._device_of, self._ledger
        make, copy, backing_of = tensor.__init__, tensor._copy_to_device, tensor.backing_device.__get__

        def init(new: Any, value: Any, device: Any = None, dtype: Any = None, *rest: Any, **more: Any) -> None:
            real = names.real(device or "", True, self._pieces.is_soft())
            try:
                self._capacity.check_array(value, dtype, names.gpu(names.seen(real)))
            except self._pieces.errors.OpError:
                make(new, 0.0, f"{names.head}/device:CPU:0", None)  # no tensor was created that could be collected
                raise
            make(new, value, real or device, dtype, *rest, **more)
            self._copied("_EagerConst", new, new.dtype.name in HOSTED)

        def copied(old: Any, device_name: Any) -> Any:
            new = copy(old, names.real(device_name or "", True, self._pieces.is_soft()))
            self._copied("_Copy", new)
            return new

        def backing_device(kept: Any) -> str:
            if kept.dtype.name == "string" or ledger.is_on_host(kept):
                return f"{names.head}/device:CPU:0"
            return names.seen(backing_of(kept))

        tensor.__init__ = init
        tensor._copy_to_device = copied
        tensor.device = property(lambda kept: names.seen(device_of(kept)), doc=tensor.device.__doc__)
        tensor.backing_device = property(backing_device, doc=tensor.backing_device.__doc__)

    def _note(self, op: str, placed: Placement, result: Any, inputs: Any, attributes: Any) -> None:
        """Counts what an operation left on a simulated GPU."""
        if self._call.fresh is not None:
            self._variable(self._call.fresh, inputs[1] if op == _ASSIGN else None)
        if result is None or (op in SHARING and self._shares(inputs, result)):
            return
        if op == _VARIABLE:
            handle = result if isinstance(result, self._tensor) else result[0]
            self._call.fresh = _Fresh(weakref.ref(handle), self._bytes_of_variable(attributes))
            return
        on_host: frozenset[str] = placed.kernel.host if placed.kernel is not None else frozenset()
        outputs = result if isinstance(result, (list, tuple)) else (result,)
        declared = [argument.name for argument in self._pieces.op_definitions.get(op).output_arg] if on_host else []
        for number, output in enumerate(outputs):
            name = declared[min(number, len(declared) - 1)] if declared else ""
            size = 0 if self._is_part(output, inputs) else None
            gpu = self._keep(output, name in on_host, size, is_sure=placed.kernel is not None)
            if gpu is not None and placed.kernel is not None:
                self._capacity.check(op, output, gpu)

    def _shares(self, inputs: Any, result: Any) -> bool:
        """Whether the output of an operation that may avoid a copy shares the memory of its input."""
        first, made = (one[0] if isinstance(one, list) and one else one for one in (inputs[0], result))
        return not isinstance(made, self._tensor) or not isinstance(first, self._tensor) or self._are_near(first, made)

    def _is_part(self, output: Any, inputs: Any) -> bool:
        """Whether a large output shares the memory of an input."""
        if self._bytes_of(output) < LARGE:
            return False
        near = [one for one in inputs if isinstance(one, self._tensor) and self._are_near(one, output)]
        return self._buffers.is_within(output, near)

    def _are_near(self, one: Any, other: Any) -> bool:
        """Whether two tensors are on one device. Nothing is copied between logical CPUs; between GPUs it would be."""
        return bool(self._device_of(one) == self._device_of(other))

    def _variable(self, fresh: _Fresh, value: Any) -> None:
        """Counts a variable once it has a value, whose memory becomes the variable's, or once another operation
        runs."""
        self._call.fresh = None
        if (handle := fresh.handle()) is None:
            return
        if value is not None:
            self._ledger.shares(value)
        gpu = self._keep(handle, False, fresh.size)
        if gpu is not None and value is not None:
            self._capacity.check_copy(_ASSIGN, gpu)

    def _copied(self, op: str, tensor: Any, on_host: bool = False) -> None:
        gpu = self._keep(tensor, on_host)
        if gpu is not None:
            self._capacity.check_copy(op, gpu)

    def _keep(self, tensor: Any, on_host: bool, size: int | None = None, is_sure: bool = True) -> int | None:
        """Counts a tensor. Returns the GPU it lives on."""
        if not isinstance(tensor, self._tensor):
            return None
        gpu = self._names.gpu(self._names.seen(self._device_of(tensor)))
        if gpu is None:
            return None
        self._ledger.add(tensor, gpu, self._bytes_of(tensor) if size is None else size, on_host, is_sure)
        return gpu

    def _bytes_of(self, tensor: Any) -> int:
        """Bytes of a tensor's elements; 0 for other values, handles, tensors in host memory, or where asking waits."""
        if not isinstance(tensor, self._tensor) or tensor.dtype.name in _MEMORYLESS or self._pieces.is_asynchronous():
            return 0
        return int(tensor.dtype.size * tensor._num_elements())

    def _bytes_of_variable(self, arguments: Any) -> int:
        """Bytes of a variable, from the attributes of its handle."""
        given = dict(zip(arguments[::2], arguments[1::2], strict=False))
        try:
            size = int(self._pieces.dtypes.as_dtype(given["dtype"]).size)
            for length in given["shape"]:
                size *= int(length)
        except (KeyError, TypeError, ValueError):
            return 0  # the shape is unknown
        return size

    # ------------------------------------------------------------------------------ names

    def _messages(self) -> None:
        """Translates the runtime's error messages to the program's device names."""
        error, names = self._pieces.errors.OpError, self._names
        make = error.__init__

        def init(made: Any, node_def: Any, op: Any, message: Any, *rest: Any) -> None:
            make(made, node_def, op, names.message(message) if isinstance(message, str) else message, *rest)

        error.__init__ = init

    def _asked_for(self) -> None:
        """`Context.device_name` returns the program's requested device, also inside an operation."""
        call = self._call

        def device_name(context: Any) -> Any:
            name = context._thread_local_data.device_name
            return call.asked if name == call.real and name is not None else name

        self._pieces.context.Context.device_name = property(device_name)

    def _functions_of_python(self) -> None:
        """Translates the device that the runtime passes to Python functions."""
        registry, names = self._pieces.scripts.FuncRegistry, self._names
        run = registry.__call__

        def called(functions: Any, token: Any, device: Any, args: Any) -> Any:
            return run(functions, token, names.seen(device) if isinstance(device, str) else device, args)

        registry.__call__ = called
