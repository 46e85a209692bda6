"""Which operations have a GPU kernel, by the table and by the registry of the installed TensorFlow."""

from __future__ import annotations

import pytest

from gpulint.probe.agent.simulation.kernels import Kernels, Types

FLOAT: Types = (("T", ("float32",)),)


@pytest.fixture(scope="module")
def table() -> Kernels:
    return Kernels()


def test_the_table_tells_what_runs_on_gpus_by_type(table: Kernels) -> None:
    assert table.find("MatMul", FLOAT) is not None
    assert table.find("MatMul", (("T", ("int8",)),)) is None
    assert table.find("VarHandleOp", (("dtype", ("float32",)),)) is not None
    assert table.find("VarHandleOp", (("dtype", ("int32",)),)) is None


def test_an_operation_that_only_cpus_have_is_known_without_kernels(table: Kernels) -> None:
    assert table.of("RandomShuffle") == ()
    assert table.of("__inference_step_12") is None


def test_arguments_that_stay_with_the_host_are_reported(table: Kernels) -> None:
    on_host = table.find("AddV2", (("T", ("int32",)),))
    on_gpu = table.find("AddV2", FLOAT)
    assert on_host is not None and on_gpu is not None
    assert on_host.host == {"x", "y", "z"}
    assert not on_gpu.host


def test_types_that_are_not_known_fit(table: Kernels) -> None:
    assert table.attributes("MatMul") == ("T",)
    assert table.find("MatMul", (("T", ()),)) is not None
    assert table.find("MatMul", ()) is not None


def test_the_registry_is_asked_instead_of_the_table_where_there_is_one() -> None:
    assert Kernels(lambda op: ()).find("MatMul", FLOAT) is None
