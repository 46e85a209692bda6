"""Eager operations and tensors: the runtime's names stay behind the calls that lead into it."""

from __future__ import annotations

import threading
from typing import Any

from gpulint.probe.agent.simulation.kernels import Types
from gpulint.probe.agent.simulation.ledger import ALIASES, Ledger
from gpulint.probe.agent.simulation.names import Names
from gpulint.probe.agent.simulation.pieces import Pieces
from gpulint.probe.agent.simulation.placing import CallTypes, Placed, Placing

_VARIABLE = "VarHandleOp"
_MEMORYLESS = frozenset({"resource", "variant", "string"})
"""Types whose tensors are handles, or live with the host."""


class _Call(threading.local):
    """The operation that this thread is in: what it was asked to run on, and the name the runtime was given."""

    asked: Any = ""
    real: Any = None


class Eager:
    """Stands before the ways by which operations, constants and copies reach the runtime."""

    def __init__(self, names: Names, placing: Placing, ledger: Ledger, pieces: Pieces) -> None:
        self._names = names
        self._placing = placing
        self._ledger = ledger
        self._pieces = pieces
        self._types = CallTypes(placing, pieces)
        self._call = _Call()
        self._tensor = pieces.ops.EagerTensor
        self._device_of = self._tensor.device.__get__

    def install(self) -> None:
        """Put everything in place."""
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
        """`TFE_Py_FastPathExecute(context, op, name, *inputs, *attributes)`: it reads the thread's device itself."""
        call = self._call

        def fast(context: Any, op: str, name: Any, *arguments: Any) -> Any:
            if context._context_handle is None:
                context.ensure_initialized()
            state = context._thread_local_data
            current, before = state.device_name, (call.asked, call.real)
            asked = call.asked if call.real is not None and current == call.real else current

            def types(attributes: tuple[str, ...]) -> Types:
                inputs = len(self._types.arguments(op))
                return self._types.of(op, attributes, arguments[:inputs], arguments[inputs:])

            placed = self._placing.place(op, types, asked or "")
            call.asked, call.real = asked, placed.device or current
            state.device_name = call.real
            try:
                result = execute(context, op, name, *arguments)
            finally:
                state.device_name = current
                call.asked, call.real = before
            self._note(op, placed, result, arguments)
            return result

        return fast

    def _slow(self, execute: Any) -> Any:
        """`TFE_Py_Execute(handle, device, op, inputs, attributes, …)`."""

        def slow(handle: Any, device: str | None, op: Any, inputs: Any, attributes: Any, *rest: Any) -> Any:
            name = op.decode() if isinstance(op, bytes) else op

            def types(wanted: tuple[str, ...]) -> Types:
                return self._types.of(name, wanted, inputs, tuple(attributes or ()))

            placed = self._placing.place(name, types, device or "")
            result = execute(handle, placed.device or device, op, inputs, attributes, *rest)
            self._note(name, placed, result, attributes or ())
            return result

        return slow

    # ---------------------------------------------------------------------------- tensors

    def _tensors(self) -> None:
        tensor, names, device_of, ledger = self._tensor, self._names, self._device_of, self._ledger
        make, copy, backing_of = tensor.__init__, tensor._copy_to_device, tensor.backing_device.__get__

        def init(new: Any, value: Any, device: Any = None, dtype: Any = None, *rest: Any, **more: Any) -> None:
            make(new, value, names.real(device or "", True, self._pieces.is_soft()) or device, dtype, *rest, **more)
            self._keep(new, False)

        def copied(old: Any, device_name: Any) -> Any:
            new = copy(old, names.real(device_name or "", True, self._pieces.is_soft()))
            self._keep(new, False)
            return new

        def backing_device(kept: Any) -> str:
            if kept.dtype.name == "string" or ledger.is_on_host(kept):
                return f"{names.head}/device:CPU:0"
            return names.seen(backing_of(kept))

        tensor.__init__ = init
        tensor._copy_to_device = copied
        tensor.device = property(lambda kept: names.seen(device_of(kept)), doc=tensor.device.__doc__)
        tensor.backing_device = property(backing_device, doc=tensor.backing_device.__doc__)

    def _note(self, op: str, placed: Placed, result: Any, arguments: Any) -> None:
        """Count what an operation has left on a simulated GPU."""
        if op in ALIASES or result is None:
            return
        if op == _VARIABLE:
            self._keep(result if isinstance(result, self._tensor) else result[0], False, self._bytes(arguments))
            return
        on_host: frozenset[str] = placed.kernel.host if placed.kernel is not None else frozenset()
        outputs = result if isinstance(result, (list, tuple)) else (result,)
        if not on_host:
            for output in outputs:
                self._keep(output, False)
            return
        declared = [argument.name for argument in self._pieces.op_definitions.get(op).output_arg]
        for number, output in enumerate(outputs):
            name = declared[min(number, len(declared) - 1)] if declared else ""
            self._keep(output, name in on_host)

    def _keep(self, tensor: Any, on_host: bool, size: int | None = None) -> None:
        if not isinstance(tensor, self._tensor):
            return
        gpu = self._names.gpu(self._names.seen(self._device_of(tensor)))
        if gpu is None:
            return
        if size is None:
            dtype = tensor.dtype
            size = 0 if dtype.name in _MEMORYLESS else dtype.size * tensor._num_elements()
        self._ledger.add(tensor, gpu, size, on_host)

    def _bytes(self, arguments: Any) -> int:
        """The bytes of a variable, by the attributes of its handle."""
        given = dict(zip(arguments[::2], arguments[1::2], strict=False))
        try:
            size = int(self._pieces.dtypes.as_dtype(given["dtype"]).size)
            for length in given["shape"]:
                size *= int(length)
        except (KeyError, TypeError, ValueError):
            return 0  # of unknown shape
        return size

    # ------------------------------------------------------------------------------ names

    def _messages(self) -> None:
        """Errors of the runtime speak of the program's devices."""
        error, names = self._pieces.errors.OpError, self._names
        make = error.__init__

        def init(made: Any, node_def: Any, op: Any, message: Any, *rest: Any) -> None:
            make(made, node_def, op, names.text(message) if isinstance(message, str) else message, *rest)

        error.__init__ = init

    def _asked_for(self) -> None:
        """`Context.device_name` tells what the program asked for, inside of an operation, too."""
        call = self._call

        def device_name(context: Any) -> Any:
            name = context._thread_local_data.device_name
            return call.asked if name == call.real and name is not None else name

        self._pieces.context.Context.device_name = property(device_name)

    def _functions_of_python(self) -> None:
        """The runtime tells functions of Python on which device they are called."""
        registry, names = self._pieces.scripts.FuncRegistry, self._names
        run = registry.__call__

        def called(functions: Any, token: Any, device: Any, args: Any) -> Any:
            return run(functions, token, names.seen(device) if isinstance(device, str) else device, args)

        registry.__call__ = called
