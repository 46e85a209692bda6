"""Memory detectors: leaks, balance, headroom, preallocation, memory held by idle devices, other programs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.probe.capture.records import Card, Sample, Strategy, Variable, Where
from gpulint.probe.measures.leaks import host_growth, leaks, steps_began
from gpulint.probe.measures.memory import balance, cards_on, foreign, headroom, held, preallocation
from gpulint.probe.measures.memory_limits import Place, cpu_limit, places
from gpulint.probe.measures.trend import NEEDED
from gpulint.probe.measures.variable_balance import variable_balance

MIB, GIB = 1 << 20, 1 << 30
BUS = "0000:86:00.0"
BOTH = Strategy(1, "MirroredStrategy", ("GPU:0", "GPU:1"), 2, Where("train.py", 3))


def steps(*currents: int, device: str = "GPU:0", phase: str = "steps") -> list[Sample]:
    return [Sample(float(t), phase, {device: (size, size)}) for t, size in enumerate(currents)]


def at_peak(**peaks: int) -> list[Sample]:
    return [Sample(0.0, "steps", {name.replace("_", ":"): (0, peak) for name, peak in peaks.items()})]


def card(t: float = 0.0, *, ours: int = 0, others: int = 0, busy: int = 90, bus: str = BUS) -> Card:
    return Card(t, bus, "NVIDIA H100", 80 * GIB, ours + others, ours, others, busy)


def variable(name: str, device: str, size: int = 4) -> Variable:
    return Variable(name, (size // 4,), "float32", size, device, Where("train.py", 9))


class TestLeaks:
    def test_a_leak_is_reported_with_its_numbers(self) -> None:
        (growth,) = leaks(steps(*range(0, 100 * MIB, MIB)), {"GPU:0": GIB}, steps=198)
        assert growth.verdict == "fail" and growth.steady
        assert (growth.growth, growth.per_second, growth.per_step) == (99 * MIB, MIB, MIB / 2)
        assert growth.threshold == 0.05 * GIB
        assert growth.full_after == 1024 - 99

    def test_five_percent_of_the_limit_are_the_threshold(self) -> None:
        curve = steps(*range(0, 50 * MIB, MIB))
        (below,) = leaks(curve, {"GPU:0": 49 * 20 * MIB + 21})
        (above,) = leaks(curve, {"GPU:0": 49 * 20 * MIB - 1})
        assert (below.verdict, above.verdict) == ("warn", "fail")
        assert below.steady and below.full_after is not None and below.per_step is None

    def test_warm_up_does_not_count(self) -> None:
        warming = steps(*range(0, GIB, GIB // 100), phase="warm-up")
        level = [sample._replace(t=sample.t + 100) for sample in steps(*[GIB] * 30)]
        (growth,) = leaks(warming + level, {"GPU:0": 2 * GIB})
        assert (growth.verdict, growth.samples, growth.growth) == ("pass", 30, 0.0)

    @pytest.mark.parametrize("count", [0, 1, NEEDED - 1])
    def test_too_few_samples_decide_nothing(self, count: int) -> None:
        samples = steps(1, phase="build") + steps(*range(count))
        (growth,) = leaks(samples, {"GPU:0": 10})
        assert growth.verdict == "inconclusive"
        assert growth.reason == f"{count} samples after warm-up, {NEEDED} are needed"
        assert (growth.growth, growth.full_after, growth.steady) == (0.0, None, False)

    def test_a_stopped_clock_decides_nothing(self) -> None:
        samples = [sample._replace(t=1.0) for sample in steps(*range(NEEDED))]
        (growth,) = leaks(samples, {"GPU:0": 10})
        assert (growth.verdict, growth.reason) == ("inconclusive", "all samples are of the same moment")

    def test_without_a_limit_growth_is_warned_of(self) -> None:
        (growth,) = leaks(steps(*range(50)), {})
        assert (growth.verdict, growth.threshold, growth.full_after) == ("warn", None, None)
        (level,) = leaks(steps(*[5] * 50), {})
        assert level.verdict == "pass"

    def test_every_device_has_its_own(self) -> None:
        samples = [Sample(float(t), "steps", {"GPU:1": (t, t), "GPU:0": (5, 5)}) for t in range(50)]
        found = leaks(samples, {"GPU:0": 100, "GPU:1": 100})
        assert [(growth.subject, growth.verdict) for growth in found] == [("GPU:0", "pass"), ("GPU:1", "fail")]

    def test_the_host_counts_from_the_steps_on(self) -> None:
        samples = steps(1, 1, phase="build") + [Sample(100.0, "steps", {}), Sample(101.0, "steps", {})]
        since = steps_began(samples)
        assert since == 100.0
        resident = [(float(t), min(t, 100) * MIB) for t in range(200)]
        assert host_growth(resident, GIB, since).verdict == "pass"
        assert host_growth(resident, GIB, 0.0).samples == 200
        assert host_growth([(t, int(t) * MIB) for t, _ in resident], GIB, since).verdict == "fail"
        assert steps_began([]) is None


class TestBalance:
    @pytest.mark.parametrize(
        ("first", "second", "verdict"),
        [
            (1000 * MIB, 1000 * MIB, "pass"),
            (1000 * MIB, 1200 * MIB, "pass"),
            (1000 * MIB, 1201 * MIB, "fail"),
            (0, 1000 * MIB, "fail"),
            (0, 0, "pass"),
            (MIB, 3 * MIB, "pass"),
        ],
    )
    def test_a_fifth_more_is_uneven(self, first: int, second: int, verdict: str) -> None:
        found = balance(BOTH, at_peak(GPU_0=first, GPU_1=second, GPU_2=9))
        assert found is not None and found.verdict == verdict
        assert found.ratio == (second / first if first else None)
        mirrored = balance(BOTH, at_peak(GPU_0=second, GPU_1=first))
        assert mirrored is not None and mirrored.verdict == verdict

    def test_the_peak_of_the_steps_counts(self) -> None:
        build = Sample(0.0, "build", {"GPU:0": (0, GIB), "GPU:1": (0, 0)})
        found = balance(BOTH, [build, *at_peak(GPU_0=5, GPU_1=5)])
        assert found is not None and found.verdict == "pass" and found.peaks == {"GPU:0": 5, "GPU:1": 5}

    def test_devices_of_one_allocator_say_nothing(self) -> None:
        cpus = BOTH._replace(devices=("CPU:0", "CPU:1"))
        found = balance(cpus, at_peak(CPU_0=5, CPU_1=5))
        assert found is not None and (found.verdict, found.reason) == (
            "inconclusive",
            "CPU:0, CPU:1: devices of one allocator",
        )
        simulated = balance(BOTH, at_peak(GPU_0=5, GPU_1=5), shared={"GPU:0", "GPU:1"})
        assert simulated is not None and simulated.verdict == "inconclusive"

    def test_a_device_without_numbers_decides_nothing(self) -> None:
        found = balance(BOTH, at_peak(GPU_0=5))
        assert found is not None and found.reason == "memory is unknown for GPU:1"
        nothing = balance(BOTH, [])
        assert nothing is not None and nothing.verdict == "inconclusive" and nothing.ratio is None

    def test_one_device_is_no_balance(self) -> None:
        assert balance(BOTH._replace(devices=("GPU:0",)), []) is None
        assert variable_balance(BOTH._replace(devices=("GPU:0",)), []) is None


class TestVariables:
    def test_copies_on_every_replica_are_even(self) -> None:
        made = [variable("w", "GPU:0"), variable("w/replica_1", "GPU:1"), variable("on_host", "CPU:0")]
        found = variable_balance(BOTH, made)
        assert found is not None and found.verdict == "pass" and found.sizes == {"GPU:0": 4, "GPU:1": 4}

    def test_a_variable_on_one_of_them_is_named(self) -> None:
        made = [variable("w", "GPU:0"), variable("w/replica_1", "GPU:1"), variable("outside", "GPU:0", 4000)]
        found = variable_balance(BOTH, made)
        assert found is not None and found.verdict == "fail"
        assert [one.name for one in found.uneven] == ["outside"]
        assert found.sizes == {"GPU:0": 4004, "GPU:1": 4}

    def test_equal_sums_of_different_variables_are_not_even(self) -> None:
        found = variable_balance(BOTH, [variable("a", "GPU:0"), variable("b", "GPU:1")])
        assert found is not None and found.verdict == "fail" and len(found.uneven) == 2

    def test_names_may_be_there_twice(self) -> None:
        made = [variable("kernel", "GPU:0", size) for size in (4, 8)]
        made += [variable("kernel/replica_1", "GPU:1", size) for size in (8, 4)]
        found = variable_balance(BOTH, made)
        assert found is not None and found.verdict == "pass"

    def test_no_variables_decide_nothing(self) -> None:
        found = variable_balance(BOTH, [variable("w", "CPU:0")])
        assert found is not None and found.verdict == "inconclusive"

    @pytest.mark.parametrize("cls", ["ParameterServerStrategy", "CentralStorageStrategy", "OneDeviceStrategy"])
    def test_other_strategies_need_no_copies(self, cls: str) -> None:
        assert variable_balance(BOTH._replace(cls=cls), [variable("w", "GPU:0")]) is None


class TestHeadroom:
    @pytest.mark.parametrize(
        ("peak", "busy", "verdict", "kinds"),
        [
            (95, 90, "warn", ("tight",)),
            (90, 90, "pass", ()),
            (95, 30, "warn", ("tight", "memory-limited")),
            (85, 50, "warn", ("memory-limited",)),
            (85, 51, "pass", ()),
            (80, 30, "pass", ()),
            (60, 30, "pass", ()),
            (50, 50, "warn", ("batch too small",)),
            (50, 51, "pass", ()),
            (10, None, "inconclusive", ()),
            (85, None, "inconclusive", ()),
            (60, None, "pass", ()),
            (95, None, "warn", ("tight",)),
        ],
    )
    def test_by_peak_and_utilisation(self, peak: int, busy: int | None, verdict: str, kinds: tuple[str, ...]) -> None:
        samples = [Sample(float(t), "steps", {"GPU:0": (0, peak)}) for t in range(10)]
        cards = [card(float(t), busy=-1 if busy is None else busy) for t in range(10)]
        found = headroom("GPU:0", samples, 100, cards)
        assert found is not None
        assert (found.verdict, found.kinds, found.share) == (verdict, kinds, peak / 100)
        assert found.utilisation == (None if busy is None else busy / 100)

    def test_only_the_steps_count_for_the_utilisation(self) -> None:
        samples = [Sample(10.0, "steps", {"GPU:0": (0, 10)}), Sample(20.0, "steps", {"GPU:0": (0, 10)})]
        cards = [card(float(t), busy=100 if 10 <= t <= 20 else 0) for t in range(40)]
        found = headroom("GPU:0", samples, 100, cards)
        assert found is not None and found.utilisation == 1.0
        building = headroom("GPU:0", [samples[0]._replace(phase="build")], 100, cards)
        assert building is not None and building.utilisation is None

    def test_a_cpu_has_no_card_to_be_busy(self) -> None:
        found = headroom("CPU:0", at_peak(CPU_0=10), 100)
        assert found is not None and found.verdict == "pass"

    def test_no_limit_or_no_peak_is_nothing_to_judge(self) -> None:
        assert headroom("GPU:0", at_peak(GPU_0=10), None) is None
        assert headroom("GPU:1", at_peak(GPU_0=10), 100) is None


class TestCards:
    def test_what_tensorflow_takes_beforehand(self) -> None:
        samples = at_peak(GPU_0=2 * GIB)
        found = preallocation("GPU:0", samples, [card(ours=GIB), card(ours=76 * GIB)])
        assert found is not None and (found.verdict, found.ratio) == ("info", 38.0)
        modest = preallocation("GPU:0", samples, [card(ours=6 * GIB)])
        assert modest is not None and modest.verdict == "pass"
        hidden = preallocation("GPU:0", samples, [card(ours=-1)])
        assert hidden is not None and hidden.verdict == "inconclusive"
        assert preallocation("GPU:0", samples, []) is None
        assert preallocation("GPU:1", samples, [card(ours=GIB)]) is None

    def test_memory_of_a_device_where_nothing_runs(self) -> None:
        ran = {"GPU:0": 500}
        assert held("GPU:0", ran, [], [card(ours=GIB)]) is None
        found = held("GPU:1", ran, [], [card(ours=GIB)])
        assert found is not None and (found.verdict, found.taken) == ("warn", GIB)
        unseen = held("GPU:1", ran, at_peak(GPU_1=GIB), [])
        assert unseen is not None and unseen.verdict == "warn"
        free = held("GPU:1", ran, [], [card(ours=0)])
        assert free is not None and free.verdict == "pass"
        for cards in ([], [card(ours=-1)]):
            unknown = held("GPU:1", ran, [], cards)
            assert unknown is not None and unknown.verdict == "inconclusive"
        blind = held("GPU:1", {}, [], [card(ours=GIB)])
        assert blind is not None and blind.reason == "no operation was observed"

    def test_other_programs(self) -> None:
        rows = [card(others=MIB), card(others=301 * MIB), card(others=300 * MIB, bus="0000:af:00.0")]
        rows += [card(others=-1, bus="0000:b0:00.0")]
        found = foreign(rows)
        assert [one.verdict for one in found] == ["warn", "pass", "inconclusive"]
        assert found[0].taken == 301 * MIB and found[0].bus == BUS
        assert foreign([]) == []

    def test_the_instance_where_the_program_is(self) -> None:
        rows = [card(ours=5, bus=f"{BUS}/0"), card(ours=7, bus=f"{BUS}/1"), card(ours=99, bus="0000:af:00.0")]
        assert cards_on(BUS, rows) == [rows[1]]
        assert cards_on("0000:00:00.0", rows) == []


class TestLimits:
    def test_tensorflow_says_what_it_takes(self) -> None:
        line = (
            "2024-05-01 10:00:00.000000: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1928] Created device "
            "/job:localhost/replica:0/task:0/device:GPU:0 with 14784 MB memory:  -> device: 0, name: Tesla T4, "
            "pci bus id: 0000:86:00.0, compute capability: 7.5"
        )
        found = places([line, "nothing", line.replace("GPU:0", "GPU:1"), line[:150].replace("GPU:0", "GPU:2")])
        assert found == {f"GPU:{number}": Place(BUS, 14784 * MIB) for number in (0, 1)}

    @pytest.mark.parametrize(
        ("environment", "limit"),
        [
            ({}, 7),
            ({"TF_ENABLE_ONEDNN_OPTS": "0"}, None),
            ({"TF_ENABLE_ONEDNN_OPTS": "1"}, 7),
            ({"TF_CPU_ALLOCATOR_USE_BFC": "True"}, 64 * GIB),
            ({"TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPU_BFC_MEM_LIMIT_IN_MB": "64"}, 64 * MIB),
            ({"TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPU_BFC_MEM_LIMIT_IN_MB": "much"}, 64 * GIB),
            ({"TF_CPU_ALLOCATOR_USE_BFC": "yes", "TF_CPU_BFC_MEM_LIMIT_IN_MB": "64"}, 7),
        ],
    )
    def test_the_environment_says_what_the_cpu_takes(self, environment: dict[str, str], limit: int | None) -> None:
        assert cpu_limit(environment, 7) == limit


samples = st.lists(
    st.builds(
        Sample,
        st.floats(0, 10**10),
        st.sampled_from(["build", "warm-up", "steps"]),
        st.dictionaries(
            st.sampled_from(["CPU:0", "GPU:0", "GPU:1"]), st.tuples(st.integers(0, 2**40), st.integers(0, 2**40))
        ),
    ),
    max_size=60,
)
cards = st.lists(
    st.builds(
        Card,
        st.floats(0, 10**10),
        st.sampled_from([BUS, f"{BUS}/1"]),
        st.just("T4"),
        st.just(16 * GIB),
        st.integers(0, 2**40),
        st.integers(-1, 2**40),
        st.integers(-1, 2**40),
        st.integers(-1, 100),
    ),
    max_size=20,
)


@given(samples, cards)
def test_any_samples_get_an_answer(samples: list[Sample], cards: list[Card]) -> None:
    """Nothing raises, and exactly the inconclusive results have a reason."""
    devices = ("CPU:0", "GPU:0", "GPU:1")
    found = [
        *leaks(samples, {"GPU:0": 2**40}),
        host_growth([(one.t, one.used) for one in cards], 2**40, 0.0),
        balance(BOTH, samples),
        *foreign(cards),
        *(headroom(device, samples, 2**40, cards_on(BUS, cards)) for device in devices),
        *(preallocation(device, samples, cards) for device in devices),
        *(held(device, {"GPU:0": 1}, samples, cards) for device in devices),
    ]
    for one in found:
        assert one is None or (one.verdict == "inconclusive") == bool(one.reason)
