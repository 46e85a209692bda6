"""The placement log parser: every form of line, torn lines, and invariants for any stream."""

from __future__ import annotations

import copy
import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from gpulint.probe.placement_log.parser import MAX_LINE, PlacementLogParser
from gpulint.probe.placement_log.records import (
    Created,
    Execution,
    Hint,
    Mapping,
    NoMapping,
    OutOfMemory,
    Placement,
    Record,
)
from tests.probe.placement_log.logs import RECORDINGS, at_once, parse, pieces

CPU0, CPU1 = (f"/job:localhost/replica:0/task:0/device:CPU:{index}" for index in (0, 1))
GPU0, GPU1 = (f"/job:localhost/replica:0/task:0/device:GPU:{index}" for index in (0, 1))
OLD_CPU, OLD_GPU = (f"/job:localhost/replica:0/task:0/{kind}:0" for kind in ("cpu", "gpu"))

STAMPED = "2026-11-21 01:30:52.118471: I tensorflow/core/common_runtime/placer.cc:114] "
SHORT = "I0000 00:00:1795224360.624055    5226 placer.cc:162] "
ANCIENT = "I tensorflow/core/common_runtime/simple_placer.cc:818] "
EXECUTE = "I0000 00:00:1795224360.664123    5226 execute.cc:1775] "
K80 = "device: 0, name: Tesla K80, pci bus id: 0000:86:00.0, compute capability: 3.7"

FORMS: list[tuple[str, list[Record]]] = [
    # A: sessions
    ("Device mapping:\n", []),
    ("Device mapping: no known devices.\n", [NoMapping()]),
    ("I0000 00:00:1795269739.703674   18340 direct_session.cc:382] Device mapping: no known devices.\n", [NoMapping()]),
    (
        "2026-11-21 14:02:36.733416: I tensorflow/core/common_runtime/direct_session.cc:359] Device mapping:\n"
        "/job:localhost/replica:0/task:0/device:XLA_CPU:0 -> device: XLA_CPU device\n",
        [Mapping("/job:localhost/replica:0/task:0/device:XLA_CPU:0", "device: XLA_CPU device")],
    ),
    (f"{GPU0} -> {K80}\n", [Mapping(GPU0, K80)]),
    # B: standard output of every release since 1.1
    (f"my_add: (AddV2): {CPU1}\n", [Placement("my_add", "AddV2", CPU1)]),
    (f"replica_1/a-b.c/Op_2: (_Arg): {CPU0}\r\n", [Placement("replica_1/a-b.c/Op_2", "_Arg", CPU0)]),
    (f"f: (__inference_f_16): {CPU0}\n", [Placement("f", "__inference_f_16", CPU0)]),
    (f"b: (Const): {OLD_CPU}\n", [Placement("b", "Const", OLD_CPU)]),
    (
        "x: (Add): /job:worker/replica:0/task:12/device:GPU:10\n",
        [Placement("x", "Add", "/job:worker/replica:0/task:12/device:GPU:10")],
    ),
    # C: standard error
    (f"{STAMPED}my_add: (AddV2): {CPU1}\n", [Placement("my_add", "AddV2", CPU1)]),
    (f"{SHORT}my_add: (AddV2): {CPU1}\n", [Placement("my_add", "AddV2", CPU1)]),
    (f"\x1b[31m{SHORT}my_add: (AddV2): {CPU1}\x1b[0m\n", [Placement("my_add", "AddV2", CPU1)]),
    # D: eager execution, with a header and as notebooks show it
    (f"{EXECUTE}Executing op _MklMatMul in device {CPU1}\n", [Execution("_MklMatMul", CPU1)]),
    (f"Executing op __inference_f_16 in device {CPU0}\n", [Execution("__inference_f_16", CPU0)]),
    # E: TensorFlow 0.x names no op (tensorflow#3727)
    (
        "sync_replicas/fifo_queue_4_enqueue/component_0: /job:ps/replica:0/task:0/cpu:0\n"
        f"{ANCIENT}sync_replicas/fifo_queue_4_enqueue/component_0: /job:ps/replica:0/task:0/cpu:0\n",
        [Placement("sync_replicas/fifo_queue_4_enqueue/component_0", "", "/job:ps/replica:0/task:0/cpu:0")] * 2,
    ),
    # F: 1.1 to 1.7 (tensorflow#18146, rstudio/tensorflow#171)
    (
        "2018-03-31 21:43:19.800928: I tensorflow/core/common_runtime/placer.cc:874] "
        f"gradients/Eval_Network/conv5/concat_grad/Rank: (Const){GPU1}\n",
        [Placement("gradients/Eval_Network/conv5/concat_grad/Rank", "Const", GPU1)],
    ),
    (
        "2017-08-28 08:08:01.758448: I tensorflow/core/common_runtime/simple_placer.cc:872] "
        f"MatMul: (MatMul){OLD_CPU}\n",
        [Placement("MatMul", "MatMul", OLD_CPU)],
    ),
]

# quoted from public issues and logs; tensorflow#17669, #31969, #43104 and keras#9643 among them
MESSAGES: list[tuple[str, Record]] = [
    (
        "2023-01-17 17:27:05.207349: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1613] Created device "
        f"{GPU1} with 9637 MB memory:  -> device: 1, name: NVIDIA GeForce RTX 2080 Ti, pci bus id: 0000:42:00.0, "
        "compute capability: 7.5\n",
        Created(GPU1, 9637, 1, "NVIDIA GeForce RTX 2080 Ti", "0000:42:00.0", "7.5"),
    ),
    (
        f"I0000 00:00:1746176023.112165  322561 gpu_device.cc:2019] Created device {GPU1} with 22807 MB memory:  -> "
        "device: 1, name: Quadro RTX 6000, pci bus id: 0000:21:00.0, compute capability: 7.5\n",
        Created(GPU1, 22807, 1, "Quadro RTX 6000", "0000:21:00.0", "7.5"),
    ),
    (
        "2025-10-12 14:59:18.466081: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1886] Created device "
        "/device:GPU:1 with 94875 MB memory:  -> device: 1, name: AMD Instinct MI300A, pci bus id: 0001:01:00.0\n",
        Created("/device:GPU:1", 94875, 1, "AMD Instinct MI300A", "0001:01:00.0", ""),
    ),
    (
        "2019-08-26 11:51:18.215580: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1326] Created TensorFlow "
        "device (/job:localhost/replica:0/task:0/device:GPU:7 with 20545 MB memory) -> physical GPU (device: 7, name: "
        "Tesla M40 24GB, pci bus id: 0000:89:00.0, compute capability: 5.2)\n",
        Created("/job:localhost/replica:0/task:0/device:GPU:7", 20545, 7, "Tesla M40 24GB", "0000:89:00.0", "5.2"),
    ),
    (
        "2020-03-18 09:05:19.358513: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1244] Created TensorFlow device"
        " (/device:GPU:1 with 69 MB memory) -> physical GPU (device: 1, name: Tesla T4, pci bus id: 0001:0f:00.0, "
        "compute capability: 7.5)\n",
        Created("/device:GPU:1", 69, 1, "Tesla T4", "0001:0f:00.0", "7.5"),
    ),
    (
        "2017-06-23 23:47:12.053031: I tensorflow/core/common_runtime/gpu/gpu_device.cc:996] Creating TensorFlow device"
        " (/gpu:0) -> (device: 0, name: GeForce GTX 1080, pci bus id: 0000:01:00.0)\n",
        Created("/gpu:0", None, 0, "GeForce GTX 1080", "0000:01:00.0", ""),
    ),
    (
        "2020-09-10 11:03:32.321394: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1843] Ignoring visible gpu "
        "device (device: 1, name: GeForce GTX 1050 Ti, pci bus id: 0000:05:00.0, compute capability: 6.1) with core "
        "count: 6. The minimum required count is 8.\n",
        Hint(
            "ignored gpu",
            "Ignoring visible gpu device (device: 1, name: GeForce GTX 1050 Ti, pci bus id: 0000:05:00.0, compute "
            "capability: 6.1) with core count: 6. The minimum required count is 8.",
        ),
    ),
    (
        "2020-06-05 16:26:09.009430: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1703] Adding visible gpu "
        "devices: 0, 1\n",
        Hint("visible gpus", "Adding visible gpu devices: 0, 1"),
    ),
    (
        "2024-06-19 16:06:44.996032: W tensorflow/stream_executor/platform/default/dso_loader.cc:60] Could not load "
        "dynamic library 'libcusolver.so.11'; dlerror: libnvJitLink.so.12: cannot open shared object file\n",
        Hint(
            "library",
            "Could not load dynamic library 'libcusolver.so.11'; dlerror: libnvJitLink.so.12: cannot open shared "
            "object file",
        ),
    ),
    (
        "0%|          | 0/30 [00:00<?, ?it/s]2025-02-12 14:25:57.216437: E external/local_xla/xla/stream_executor/cuda/"
        "cuda_driver.cc:152] failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)\n",
        Hint("driver", "failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)"),
    ),
    (
        "I0000 00:00:1795269724.803165   18000 device_compiler.h:208] Compiled cluster using XLA!  This line is logged "
        "at most once for the lifetime of the process.\n",
        Hint("xla", "Compiled cluster using XLA!  This line is logged at most once for the lifetime of the process."),
    ),
    (
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with "
        f"shape[128,128,109,109] and type float on {GPU1} by allocator GPU_1_bfc [Op:AddV2]\n",
        OutOfMemory((128, 128, 109, 109), "float", GPU1, "GPU_1_bfc"),
    ),
    (
        "2018-03-13 21:59:44.865043: W tensorflow/core/framework/op_kernel.cc:1192] Resource exhausted: OOM when "
        "allocating tensor with shape[1,5095,3729,3]\n",
        OutOfMemory((1, 5095, 3729, 3), "", "", ""),
    ),
    (
        "2018-08-21 11:10:43.438096: W tensorflow/core/framework/op_kernel.cc:1182] Resource exhausted: OOM when "
        "allocating tensor of shape [512] and type float\n",
        OutOfMemory((512,), "float", "", ""),
    ),
]


@pytest.mark.parametrize(("log", "records"), FORMS)
def test_every_form_is_read_and_taken_out(log: str, records: list[Record]) -> None:
    outcome = parse(log.encode())
    assert outcome.records == records
    assert outcome.text == b""
    assert outcome.counts.placements == len(records)
    assert outcome.counts.torn == 0


@pytest.mark.parametrize(("message", "record"), MESSAGES)
def test_messages_about_devices_are_read_and_passed_on(message: str, record: Record) -> None:
    outcome = parse(message.encode())
    assert outcome.records == [record]
    assert outcome.text == message.encode()


@pytest.mark.parametrize(
    "text",
    [
        f"on {CPU1}\n",
        f"{CPU1}\n",
        f"device: {GPU0}\n",
        f"the device: {OLD_GPU}\n",
        f"result (x): {GPU0}\n",
        "loss: (0.5): good\n",
        "Epoch 1/2\r 10%|#\r 20%|##\r\n",
        "2026-11-21 01:30:52.118471: I tensorflow/core/platform/cpu_feature_guard.cc:142] Your CPU supports\n",
        f"x: (Add): {GPU0} \n",
        "x: (Add): /job:localhost/replica:0/task:0/device:GPU:01\n",
        "x" * (MAX_LINE + 1) + f": (Add): {GPU0}\n",
        "\n\n\r\n\x00\xff no end",
    ],
)
def test_what_users_print_passes_through(text: str) -> None:
    stream = text.encode("latin-1")
    assert parse(stream).text == stream
    assert parse(*pieces(stream, range(len(stream)))).text == stream
    assert not parse(stream).records


@pytest.mark.parametrize(
    "line",
    [
        "I0000 00:00:1795723973.344465   13866 profiler_session.cc:117] Profiler session initializing.\n",
        "I0000 00:00:1795723973.658863   13866 save_profile.cc:150] Collecting XSpace to repository: a/vm.xplane.pb\n",
        "2026-11-26 20:18:56.183104: I external/local_tsl/tsl/profiler/lib/profiler_session.cc:104] Profiler session\n",
        "2026-11-26 20:18:56.887513: I external/local_tsl/tsl/profiler/rpc/client/save_profile.cc:144] Collecting\n",
        "I0000 00:00:1795691768.295834   13866 cupti_collector.cc:534]  GpuTracer has collected 12 callback api\n",
    ],
)
def test_what_the_profiler_says_of_itself_is_taken_out(line: str) -> None:
    assert parse(f"before\n{line}behind\n".encode()).text == b"before\nbehind\n"
    assert parse(line.replace("I0000", "E0000").replace(": I ", ": E ").encode()).text


def test_a_device_that_may_go_on_is_not_recorded() -> None:
    assert parse(f"x: (Add): {GPU1}".encode()).records == []
    assert parse(f"x: (Add): {GPU1}2\n".encode()).records == [Placement("x", "Add", f"{GPU1}2")]
    assert parse(f"x: (Add): {GPU1}done\n".encode()).records == []
    assert parse(f"x: (Add): {GPU1}{SHORT}y: (Mul): {CPU0}\n".encode()).records == [Placement("y", "Mul", CPU0)]


def test_of_two_lines_in_one_what_is_certain_is_kept() -> None:
    outcome = parse(f"x: (Add): {CPU0}y: (Mul): {CPU1}\n".encode())
    assert outcome.records == [Placement("x", "Add", CPU0), Placement("", "Mul", CPU1, whole=False)]
    outcome = parse(f"x: (Add): {CPU0}2026-11-21 01:30:52.1: I a/placer.cc:1] y: (Mul): {CPU1}\n".encode())
    assert outcome.records == [Placement("x", "Add", CPU0), Placement("y", "Mul", CPU1)]
    assert outcome.text == b""


def test_a_line_behind_other_text_is_recovered_and_that_text_passed_on() -> None:
    outcome = parse(f"50%|##{SHORT}y: (Mul): {CPU1}\nloss 2{EXECUTE}Executing op Mul in device {CPU0}\n".encode())
    assert outcome.records == [Placement("y", "Mul", CPU1), Execution("Mul", CPU0)]
    assert outcome.text == b"50%|##loss 2"
    assert outcome.counts.recovered == 2


def test_a_name_that_may_lack_its_beginning_is_marked() -> None:
    outcome = parse(f"a: (Add): {CPU0}\nmy_hello\nadd: (Mul): {CPU0}\nb: (Sub): {CPU0}\n".encode())
    assert [record.whole for record in outcome.records if isinstance(record, Placement)] == [True, False, True]
    assert outcome.counts.doubtful == 1
    outcome = parse(f"{SHORT}a: (Add): {CPU0}\n{SHORT}my_hello\nadd: (Mul): {CPU0}\n".encode())
    assert outcome.records[1:] == [Placement("add", "Mul", CPU0, whole=False)]
    assert outcome.counts.torn == 1
    outcome = parse(f"=====\nmy_add: (Mul): {CPU0}\n".encode())
    assert outcome.records == [Placement("my_add", "Mul", CPU0)]


@pytest.mark.parametrize("printed", ["loss: 2.5224", "loss: 2.0354 ", "\x1b[1m3s\x1b[0m 1.5e-05", "0.5"])
def test_a_node_behind_the_progress_of_an_epoch_is_taken_out_with_its_name(printed: str) -> None:
    node = f"args_0: (_Arg): {CPU0}\n"
    outcome = parse(f"{node}{printed}{node}{node}\b\b".encode())
    assert outcome.text == f"{printed}\b\b".encode()
    assert [record.node for record in outcome.records if isinstance(record, Placement)] == ["args_0"] * 3


def test_a_name_that_begins_as_one_that_is_known_is_left_whole() -> None:
    outcome = parse(f"x: (_Arg): {CPU0}\nmodel/x: (Mul): {CPU0}\nmax: (Max): {CPU0}\n".encode())
    assert [record.node for record in outcome.records if isinstance(record, Placement)] == ["x", "model/x", "max"]


@pytest.mark.parametrize(
    ("line", "since"),
    [
        (f"my_add: (AddV2): {CPU1}\n", "my_add: (A"),
        (f"{SHORT}my_add: (AddV2): {CPU1}\n", SHORT),
        (f"{EXECUTE}Executing op AddV2 in device {CPU1}\n", EXECUTE),
        (f"Executing op AddV2 in device {CPU1}\n", "Execut"),
    ],
)
def test_a_torn_line_is_counted_once(line: str, since: str) -> None:
    for cut in range(len(since), len(line) - 1):
        outcome = parse(f"{line}{line[:cut]}hello world\n{line[cut:]}{line}".encode())
        counts = outcome.counts
        assert max(counts.torn, counts.recovered, counts.doubtful) == 1, line[:cut]
        assert b"hello world\n" in outcome.text
        assert {(record.op, record.device) for record in outcome.records} == {("AddV2", CPU1)}


def test_a_line_that_the_end_of_the_stream_cuts_is_counted() -> None:
    stream = f"{SHORT}a: (Add): {CPU0}\n{SHORT}b: (Add): {CPU0}".encode()
    for cut in range(stream.rindex(b"placer") + 20, len(stream)):
        assert parse(stream[:cut]).counts.torn == 1
    assert parse(stream + b"\n").counts.torn == 0


def test_only_what_can_become_placement_log_is_held_back() -> None:
    parser = PlacementLogParser()
    assert parser.feed(b" 50%|##").text == b" 50%|##"
    assert parser.feed(b"#\r").text == b"#\r"
    assert parser.feed(b" 60%|###").text == b" 60%|###"
    assert parser.feed(b"2026-11").text == b""
    assert parser.pending == b"2026-11"
    assert parser.feed(b" is a date").text == b"2026-11 is a "
    assert parser.pending == b"date"  # that a node may be placed on
    assert parser.feed(b"\nLoading").text == b"date\n"
    assert parser.pending == b"Loading"
    assert parser.feed(b" data").text == b"Loading "
    assert parser.pending == b"data"
    assert parser.feed(b"!").text == b"data!"


def test_a_line_is_read_although_its_beginning_was_given_up() -> None:
    parser = PlacementLogParser()
    first = parser.feed(f"my_add: (AddV2): {CPU1[:20]}".encode())
    assert (first.records, first.text) == ([], b"")
    held = parser.pending
    assert parser.flush() == held
    assert parser.flush() == b""
    assert parser.feed(CPU1[20:25].encode()).text == b""
    assert parser.pending == CPU1[20:25].encode()
    rest = parser.feed(f"{CPU1[25:]}\nnext".encode())
    assert rest.records == [Placement("my_add", "AddV2", CPU1)]
    assert rest.text == b""
    assert rest.spans == [(len(held), len(held) + len(CPU1[20:]) + 1)]


def test_text_that_was_given_up_is_no_beginning_of_a_name() -> None:
    parser = PlacementLogParser()
    parser.feed(b"Loading...")
    assert parser.flush() == b"Loading..."
    record = Placement("Loading...my_add", "AddV2", CPU1, whole=False)
    assert parser.feed(f"my_add: (AddV2): {CPU1}\n".encode()).records == [record]


@pytest.mark.parametrize("before", ["name: ", "Loading...", "0.5", "1/8 [=>", "Epoch"])
def test_a_name_begins_where_the_writing_before_it_ended(before: str) -> None:
    parser = PlacementLogParser()
    text = parser.feed(before.encode()).text
    parser.pause()
    parsed = parser.feed(f"my_add: (AddV2): {CPU1}\nnext".encode())
    assert parsed.records == [Placement("my_add", "AddV2", CPU1)]
    assert text + parsed.text + parser.flush() == f"{before}next".encode()


def test_a_pause_within_a_known_name_is_none() -> None:
    parser = PlacementLogParser()
    line = f"my_add: (AddV2): {CPU1}\n"
    parser.feed(line.encode())
    assert parser.feed(line[:4].encode()).text == b""
    parser.pause()
    parsed = parser.feed(line[4:].encode())
    assert (parsed.records, parsed.text) == ([Placement("my_add", "AddV2", CPU1)], b"")


def test_recordings_are_understood_to_the_last_line() -> None:
    """Only torn lines of placement log are left in the text passed on."""
    for name, log in RECORDINGS.items():
        outcome = parse(log)
        left = re.findall(rb"Executing op|\): ?/job:", outcome.text)
        assert len(left) <= outcome.counts.torn, name
        assert outcome.counts.torn == 0 or re.search("torn|mirrored", name), name


@pytest.mark.parametrize("program", ["session", "function", "compiled"])
def test_both_streams_of_a_run_say_the_same(program: str) -> None:
    for name in (name for name in RECORDINGS if name.endswith(f"{program}.stdout")):
        streams = (RECORDINGS[name], RECORDINGS[name.replace("stdout", "stderr")])
        output, errors = (
            Counter(r._replace(whole=True) for r in parse(stream).records if isinstance(r, Placement))
            for stream in streams
        )
        assert output == errors, name
        assert output.total() >= 8, name


cuts = st.lists(st.integers(0, 24_000), max_size=40)
names = st.sampled_from(sorted(RECORDINGS))


@given(names, cuts)
@settings(max_examples=150, deadline=None)
def test_chunks_change_nothing(name: str, places: list[int]) -> None:
    assert parse(*pieces(RECORDINGS[name], places)) == at_once(name)


@given(names, cuts)
@settings(max_examples=150, deadline=None)
def test_giving_up_what_is_held_back_loses_no_line(name: str, places: list[int]) -> None:
    log, parser = RECORDINGS[name], PlacementLogParser()
    records: list[Record] = []
    passed = taken = 0
    for chunk in pieces(log, places):
        parsed = parser.feed(chunk)
        records += parsed.records
        passed += len(parsed.text) + len(parser.flush())
        taken += sum(behind - first for first, behind in parsed.spans)
        assert parser.pending == b""
    rest = parser.close()
    assert passed + taken + len(rest.text) + sum(b - a for a, b in rest.spans) == len(log)
    whole = at_once(name)
    assert [r._replace(whole=True) if isinstance(r, Placement) else r for r in records + rest.records] == [
        r._replace(whole=True) if isinstance(r, Placement) else r for r in whole.records
    ]
    assert parser.counts._replace(doubtful=0) == whole.counts._replace(doubtful=0)


@pytest.mark.parametrize("name", sorted(name for name in RECORDINGS if re.search(r"torn|session|1\.15", name)))
def test_a_cut_anywhere_makes_up_nothing(name: str) -> None:
    log = RECORDINGS[name][:10_000]
    left = Counter(at_once(name).records)
    parser, accounted = PlacementLogParser(), 0
    for offset in range(len(log)):
        parsed = parser.feed(log[offset : offset + 1])
        left.subtract(parsed.records)
        accounted += len(parsed.text) + sum(behind - first for first, behind in parsed.spans)
        cut = copy.copy(parser)
        rest = cut.close()
        made_up = Counter(rest.records) - left
        assert not made_up and all(left[one] >= 0 for one in parsed.records), log[: offset + 1][-200:]
        assert accounted + len(rest.text) + sum(b - a for a, b in rest.spans) == offset + 1


def tearing(text: bytes) -> bool:
    """Whether a text cannot be mistaken for part of a line in any position."""
    last = re.split(rb"[\r\n]", text)[-1]
    return (
        re.match(rb"[\r\n\x1b]|\d+(?:\x1b\[[\d;]*[A-Za-z])*\r?\n", text) is None
        and (not last or re.search(rb"[^\w.\\/<>-]", last) is not None)
        and b"\x1b" not in text
    )


def essence(records: list[Record]) -> Counter[tuple[str, str]]:
    return Counter((r.op, r.device) for r in records if isinstance(r, Placement | Execution))


def certain(records: list[Record]) -> Counter[tuple[str, str, str]]:
    kept = [r for r in records if isinstance(r, Execution) or (isinstance(r, Placement) and r.whole)]
    return Counter((getattr(r, "node", ""), r.op, r.device) for r in kept)


users_text = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=40).map(str.encode),
    st.sampled_from([b"Epoch 1/2\n", b"loss: 0.5 ", b"\x80\n", b" ", b"x y\n", b"step 12:", b"(a): b\n", b"0 of 3\r"]),
)


@given(names, st.integers(0, 24_000), users_text)
@settings(max_examples=600, deadline=None)
def test_a_print_anywhere_loses_one_line_at_most_and_that_is_counted(name: str, place: int, text: bytes) -> None:
    assume(tearing(text))
    log = RECORDINGS[name]
    place = min(place, len(log))
    before, after = at_once(name), parse(log[:place], text, log[place:])
    names_before = Counter(
        (getattr(r, "node", ""), r.op, r.device) for r in before.records if isinstance(r, Placement | Execution)
    )
    assert not certain(after.records) - names_before
    assert not essence(after.records) - essence(before.records)
    lost = sum((essence(before.records) - essence(after.records)).values())
    assert lost <= 1
    if lost and before.counts.torn == 0 and parse(log[:place]).counts.placements:
        assert sum(after.counts[3:]) > sum(before.counts[3:])


fragments = st.sampled_from(
    [
        *(
            b"my_add",
            b": (",
            b"AddV2",
            b"): ",
            b"/job:localhost/replica:0/task:0/device:CPU:",
            b"0",
            b"1",
            b"\n",
            b"\r",
        ),
        *(b"Executing op ", b" in device ", SHORT.encode(), STAMPED.encode(), EXECUTE.encode(), ANCIENT.encode()),
        *(b"/job:ps/replica:0/task:0/cpu:0", b" -> ", b"device: XLA_CPU device", b"Device mapping:", b"\x1b[0m", b" "),
        *(b" no known devices.", b"I", b"2026", b"-", b"x", b"\xc3", b"Created device ", b"OOM when allocating tensor"),
        *(f"a: (B): {CPU0}\n".encode(), f"c: (D): {GPU1}".encode(), K80.encode(), b"with shape[2]", b" and type float"),
    ]
)


@given(st.one_of(st.binary(max_size=300), st.lists(fragments, max_size=30).map(b"".join)), cuts)
@settings(max_examples=1500, deadline=None)
@example(b"\r", [])
@example(f"\x1b[0m\x1b[31ma: (B): {CPU0}\n".encode(), [5])
def test_any_bytes_are_passed_on_or_taken_out_whatever_the_chunks(stream: bytes, places: list[int]) -> None:
    whole = parse(stream)
    assert parse(*pieces(stream, [place % (len(stream) + 1) for place in places])) == whole
    assert parse(*pieces(stream, range(len(stream)))) == whole


@given(st.binary(max_size=40).filter(lambda text: b"\n" not in text and b"\r" not in text), st.integers(1, 7))
@settings(max_examples=50, deadline=None)
def test_lines_without_end_are_not_kept(text: bytes, size: int) -> None:
    parser = PlacementLogParser()
    stream = (text + b"%") * (3 * MAX_LINE // (len(text) + 1))
    passed = [parser.feed(chunk).text for chunk in pieces(stream, range(0, len(stream), size * 1000))]
    assert b"".join(passed) + parser.pending == stream
    assert len(parser.pending) <= MAX_LINE
    assert parser.feed(f"\nx: (Add): {CPU0}\n".encode()).records == [Placement("x", "Add", CPU0, whole=False)]


def test_spans_are_in_order_and_apart() -> None:
    for log in RECORDINGS.values():
        spans = PlacementLogParser().feed(log).spans
        assert all(behind <= first for (_, behind), (first, _) in pairwise(spans))
