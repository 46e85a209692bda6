"""The checks of a cluster, on workers that differ in one relevant point."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from gpulint.probe.capture.contents import Capture, Member
from gpulint.probe.capture.records import Call, Node, ReplicaRun, Strategy, Task, Variable, Worker
from gpulint.probe.checks.verify import exit_status, verify
from gpulint.probe.checks.verify_workers import CHECKS, merged, verify_all
from gpulint.probe.cluster.joined import joined
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status, UserExpectation, held, violated
from gpulint.settings import Settings
from tests.probe.cluster.clusters import LINE, members, worker


def of(id: str, *captures: Capture | None) -> list[Expectation]:
    run = Run(joined(members(*captures)))
    return [one for one in verify(run, CHECKS) if one.id == id]


def grown(capture: Capture, *devices: str) -> Capture:
    calls = [Call("tf.config.experimental.set_memory_growth", {"0": one, "1": "True"}, "", LINE) for one in devices]
    return replace(capture, calls=calls)


def test_a_program_that_ran_alone_has_nothing_to_do_with_it() -> None:
    assert verify(Run(worker(0)), CHECKS) == []


def test_workers_that_are_alike_hold_everything() -> None:
    found = verify(Run(joined(members(*(worker(index, count=3) for index in range(3))))), CHECKS)
    assert {one.status for one in found} == {Status.PASS}
    assert {one.id for one in found} == {
        "worker-joined",
        "devices-alike",
        "versions-alike",
        "worker-balance",
        "replica-balance",
        "straggler",
    }


class TestJoined:
    def test_a_worker_without_a_capture_is_missed(self) -> None:
        first, second = of("worker-joined", worker(0), None)
        assert (first.status, first.level, first.subject, first.observed) == (
            Status.FAIL,
            Level.ERROR,
            "worker 1",
            "left no capture",
        )
        assert (second.status, second.subject, second.observed) == (Status.PASS, "worker 0", "40 steps")
        assert exit_status([first], {"status": 0}, strict=False) == 1

    def test_a_worker_without_a_step_is_missed_where_others_took_some(self) -> None:
        end = {"status": 1, "signal": None, "reason": "exit", "t": 5.0}
        late = replace(worker(1, steps=0), end=end, error="RuntimeError: no", error_at=LINE)
        broken = of("worker-joined", worker(0), late)[0]
        assert (broken.status, broken.observed, broken.where) == (Status.FAIL, "took no step, status 1", LINE)
        assert broken.evidence == ("RuntimeError: no",)
        (undecided,) = of("worker-joined", worker(0, steps=0), worker(1, steps=0))
        assert undecided.status is Status.INCONCLUSIVE

    def test_parameter_servers_and_evaluators_need_no_steps(self) -> None:
        others = [Member(Task("ps", 0), worker(0, steps=0)), Member(Task("evaluator", 0), None)]
        found = verify(Run(joined([*members(worker(0), worker(1)), *others])), CHECKS)
        assert [one.subject for one in found if one.id == "worker-joined"] == ["worker 0, 1"]

    def test_workers_of_parameter_servers_run_what_the_coordinator_sends_them(self) -> None:
        strategy = Strategy(1, "ParameterServerStrategy", ("CPU:0",), 1, LINE)
        chief = Member(Task("chief", 0), replace(worker(0), strategies=[strategy]))
        served = [Member(Task("worker", index), replace(worker(index, steps=0), strategies=[])) for index in (0, 1)]
        found = verify(Run(joined([chief, *served])), CHECKS)
        assert [(one.status, one.subject) for one in found if one.id == "worker-joined"] == [(Status.PASS, "chief 0")]
        assert {one.status for one in found} == {Status.PASS}

    def test_captures_of_two_runs_are_not_one_cluster(self) -> None:
        broken = of("worker-joined", worker(0, count=2), worker(1, count=2), worker(2, count=3))[0]
        assert (broken.status, broken.subject) == (Status.FAIL, "the cluster")
        assert broken.observed == "worker 0, 1 on worker 0, 1; worker 0–2 on worker 2"


class TestAlike:
    def test_devices_that_a_strategy_would_wait_for_are_an_error(self) -> None:
        two = replace(worker(1), logical=("CPU:0", "GPU:0", "GPU:1"))
        (broken,) = of("devices-alike", worker(0), two)
        assert (broken.status, broken.observed) == (Status.FAIL, "1 × GPU on worker 0; 2 × GPU on worker 1")
        alone = [replace(one, strategies=[]) for one in (worker(0), two)]
        assert of("devices-alike", *alone)[0].status is Status.WARN

    def test_a_worker_without_the_gpu_that_others_have_differs(self) -> None:
        (broken,) = of("devices-alike", worker(0), replace(worker(1), logical=("CPU:0",), physical=("CPU:0",)))
        assert broken.observed == "1 × GPU on worker 0; 0 × GPU on worker 1"

    @pytest.mark.parametrize(
        ("field", "value", "observed"),
        [
            ("process", {"python": "3.12.1"}, "3.11.7 on worker 0; 3.12.1 on worker 1"),
            ("tensorflow", {"tensorflow": "2.16.2"}, "2.21.0 on worker 0; 2.16.2 on worker 1"),
            ("keras", "3.8.0", "3.15.1 on worker 0; 3.8.0 on worker 1"),
        ],
    )
    def test_versions_differ(self, field: str, value: Any, observed: str) -> None:
        found = of("versions-alike", worker(0), replace(worker(1), **{field: value}))
        assert [one.observed for one in found if one.status is Status.WARN] == [observed]
        assert [one.status for one in found].count(Status.PASS) == 2

    def test_growth_that_one_worker_sets_alone_is_reported(self) -> None:
        (broken,) = of("growth-alike", grown(worker(0), "GPU:0"), worker(1))
        assert (broken.status, broken.observed) == (Status.WARN, "set for GPU:0 on worker 0; not set on worker 1")
        (kept,) = of("growth-alike", grown(worker(0), "GPU:0"), grown(worker(1), "GPU:0"))
        assert kept.status is Status.PASS

    def test_growth_by_the_environment_counts(self) -> None:
        forced = replace(worker(1), environment={"runtime": {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}})
        (broken,) = of("growth-alike", worker(0), forced)
        assert broken.observed == "not set on worker 0; TF_FORCE_GPU_ALLOW_GROWTH=true on worker 1"


class TestBalance:
    def test_steps_that_differ_are_reported(self) -> None:
        broken = of("worker-balance", worker(0, steps=100), worker(1, steps=60))[0]
        assert (broken.status, broken.observed) == (Status.WARN, "100 on worker 0; 60 on worker 1")

    def test_steps_of_a_worker_that_was_ended_decide_nothing(self) -> None:
        ended = replace(worker(1, steps=60), end={"status": None, "signal": 9, "reason": "exit"})
        assert of("worker-balance", worker(0, steps=100), ended)[0].status is Status.INCONCLUSIVE

    def test_batches_of_different_sizes_are_reported(self) -> None:
        def given(capture: Capture, size: int) -> Capture:
            runs = Counter({ReplicaRun(LINE, "step", 2, False, True, True, False, size): 1})
            return replace(capture, runs=runs, steps={("step", LINE): None})  # type: ignore[dict-item]

        found = of("worker-balance", given(worker(0), 32), given(worker(1), 16))
        assert found[0].observed == "32 on worker 0; 16 on worker 1"

    def test_variables_and_work_of_replicas_are_compared_over_the_workers(self) -> None:
        odd = worker(1)
        odd = replace(odd, variables=[*odd.variables, Variable("extra", (1,), "float32", 4, "GPU:0", LINE)])
        broken, kept = of("replica-balance", worker(0), odd)
        assert (broken.status, broken.observed) == (Status.WARN, "128 bytes on worker 0; 132 bytes on worker 1")
        assert kept.status is Status.PASS
        idle = replace(worker(1), nodes=Counter({Node(LINE, "MatMul", "", "GPU:0", "", "float", "step"): 2}))
        assert of("replica-balance", worker(0), idle)[0].observed == "10 nodes on worker 0; 2 nodes on worker 1"

    def test_an_idle_replica_of_one_worker_is_named(self) -> None:
        strategy = Strategy(1, "MultiWorkerMirroredStrategy", ("GPU:0", "GPU:1"), 4, LINE)
        both = [replace(worker(index), strategies=[strategy], logical=("GPU:0", "GPU:1")) for index in range(2)]
        found = of("replica-balance", *both)
        assert found[0].observed == "GPU:0: 128 bytes, GPU:1: 0 bytes"


class TestStragglers:
    def test_the_one_that_waits_least_is_the_one_that_others_wait_for(self) -> None:
        slow = worker(1, inside=0.01, between=0.09)
        fast = [worker(index, inside=0.1, between=0.001) for index in (0, 2)]
        (broken,) = of("straggler", fast[0], slow, fast[1])
        assert (broken.status, broken.level) == (Status.WARN, Level.WARN)
        assert broken.subject.endswith(": worker 1")
        assert broken.observed == "100.0 ms on worker 1, median 11.0 ms"
        assert broken.evidence[0].startswith("worker 1: 100.0 ms of its own, 90.0 ms of them between steps")

    def test_of_two_workers_the_slower_one_can_be_it(self) -> None:
        (broken,) = of("straggler", worker(0, inside=0.1), worker(1, inside=0.01, between=0.09))
        assert broken.subject.endswith(": worker 1")

    def test_a_difference_of_a_millisecond_is_none(self) -> None:
        (kept,) = of("straggler", worker(0, inside=0.001, between=0.0), worker(1, inside=0.0005, between=0.002))
        assert kept.status is Status.PASS

    def test_few_steps_decide_nothing(self) -> None:
        few = worker(1, steps=5, between=1.0)
        few.steps["step", LINE] = None  # type: ignore[assignment]
        (undecided,) = of("straggler", worker(0), few)
        assert undecided.status is Status.INCONCLUSIVE

    def test_a_simulation_says_nothing_of_speed(self) -> None:
        assert of("straggler", *(replace(worker(index, between=index), simulated=2) for index in (0, 1))) == []


class TestTogether:
    def test_what_all_workers_say_is_reported_once_and_what_one_says_with_its_name(self) -> None:
        every = held("copies", "copies of each step", "none", "none", where=LINE)
        alone = violated("copies", "copies of each step", "none", "3", where=LINE, evidence=("3 of them",))
        tasks = [Task("worker", index) for index in range(4)]
        told = merged([*((task, [every]) for task in tasks[:3]), (tasks[3], [alone])])
        assert [(one.status, one.subject, one.observed) for one in told] == [
            (Status.PASS, "copies of each step on worker 0–2", "none"),
            (Status.FAIL, "copies of each step on worker 3", "3"),
        ]
        assert told[1].evidence == ("3 of them",)

    def test_what_workers_observe_differently_is_reported_by_worker(self) -> None:
        (told,) = merged(
            [(Task("worker", index), [held("retrace", "traces of `f`", "1", str(index // 2))]) for index in range(4)]
        )
        assert told.observed == "0 on worker 0, 1; 1 on worker 2, 3"

    def test_an_expectation_of_the_user_is_checked_on_each_worker(self) -> None:
        capture = joined(members(worker(0, steps=40), worker(1, steps=60)))
        found = verify_all(capture, (), [UserExpectation("steps >= 50", "--expect")], Settings())
        stated = [(one.status, one.subject) for one in found if one.id == "expect"]
        assert stated == [(Status.FAIL, "steps on worker 0"), (Status.PASS, "steps on worker 1")]


def test_the_cluster_of_a_worker_is_that_of_the_tf_config_it_set_itself() -> None:
    own = replace(worker(0), worker=Worker("worker", 0, "Slurm", (Task("worker", 0),)))
    own.environment["runtime"] = {
        "TF_CONFIG": '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}'
    }
    assert all(one.status is Status.PASS for one in of("worker-joined", own, worker(1)))
