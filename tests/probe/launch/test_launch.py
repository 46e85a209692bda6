"""A launched program runs as it would without gpulint, and the capture has what it did."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.probe.launch.launched import WAITING, Launched, is_running, until

PLACED = "a/b: (MatMul): /job:localhost/replica:0/task:0/device:CPU:1\n"
RAN = (
    "2026-11-21 01:30:52.118471: I tensorflow/core/common_runtime/eager/execute.cc:1775] "
    "Executing op MatMul in device /job:localhost/replica:0/task:0/device:CPU:0\n"
)


def turning_the_log_on(folder: Path) -> str:
    """Code in place of the agent, which records that it turned the placement log on."""
    record = json.dumps({"kind": "logging", "t": 0, "instead_of": ["operations"]})
    return f"open({str(folder / 'run.jsonl')!r}, 'a').write({record!r} + chr(10))"


def records(launched: Launched, kind: str) -> list[dict[str, Any]]:
    found = (json.loads(line) for line in launched.capture_path.read_text().splitlines())
    return [record for record in found if record["kind"] == kind]


class TestOutput:
    @pytest.mark.parametrize(
        "given",
        [
            b"",
            b"no newline at the end",
            bytes(range(256)) * 50,
            b"\r 10%\r 50%\r100%\n",
            b"one\r\ntwo\n\n\nthree\r",
            "Zeichen \u2014 \u65e5\u672c\n".encode() * 1000,
            b"x" * 3_000_000,
        ],
    )
    def test_every_byte_comes_out(self, tmp_path: Path, given: bytes) -> None:
        (tmp_path / "given").write_bytes(given)
        source = """if True:
            import os, sys
            given = open(sys.argv[1], "rb").read()
            sys.stdout.buffer.write(given)
            os.write(2, given[:4096][::-1])
        """
        script = str(tmp_path / "program.py")
        options = {"command": [sys.executable, script, str(tmp_path / "given")]}
        launched = Launched(tmp_path, source, options=options)
        assert launched.finish() == (given, given[:4096][::-1])
        assert launched.ended["status"] == 0 and launched.ended["faults"] == []

    def test_much_output_among_placement_log(self, tmp_path: Path) -> None:
        source = f"""if True:
            import sys
            {turning_the_log_on(tmp_path)}
            for number in range(100_000):
                sys.stdout.write("line %d\\n" % number)
                sys.stdout.write({PLACED!r})
                if number % 10 == 0:
                    sys.stderr.write("error %d\\n" % number)
                    sys.stderr.write({RAN!r})
        """
        launched = Launched(tmp_path, source, options={"command": [sys.executable, str(tmp_path / "program.py")]})
        output, errors = launched.finish()
        assert (
            hashlib.sha256(output).digest()
            == hashlib.sha256(b"".join(b"line %d\n" % number for number in range(100_000))).digest()
        )
        assert errors == b"".join(b"error %d\n" % number for number in range(0, 100_000, 10))
        logs = launched.capture.logs
        assert logs["stdout"].placed == {("MatMul", "CPU:1"): 100_000} and logs["stdout"].lines == 200_000
        assert logs["stderr"].ran == {("MatMul", "CPU:0"): 10_000} and logs["stderr"].torn == 0

    def test_a_line_that_continues_in_the_next_block_is_waited_for(self, tmp_path: Path) -> None:
        source = f"""if True:
            import os, time
            {turning_the_log_on(tmp_path)}
            log = {PLACED!r}.encode()
            os.write(1, b"x" * 4075 + chr(10).encode() + log[:20])
            time.sleep(0.5)
            os.write(1, log[20:])
        """
        assert Launched(tmp_path, source).finish()[0] == b"x" * 4075 + b"\n"

    def test_a_line_whose_rest_is_there_is_not_passed_on_because_the_reader_is_slow(self, tmp_path: Path) -> None:
        source = f"""if True:
            import os, time
            {turning_the_log_on(tmp_path)}
            log = {PLACED!r}.encode()
            os.write(1, b"x" * 60_000)
            time.sleep(0.3)
            os.write(1, b"x" * 10_000 + chr(10).encode() + log[:20])  # more than the pipe to the reader holds
            time.sleep(0.3)
            os.write(1, log[20:])
            open({str(tmp_path / "written")!r}, "w").close()
        """
        launched = Launched(tmp_path, source)
        until((tmp_path / "written").exists)
        assert launched.finish()[0] == b"x" * 70_000 + b"\n"

    @pytest.mark.parametrize("own", [True, False])
    def test_what_the_profiler_of_the_probe_logs_is_not_the_programs(self, tmp_path: Path, own: bool) -> None:
        line = "I0000 00:00:1795723973.344465   13866 profiler_session.cc:117] Profiler session initializing.\n"
        record = json.dumps({"kind": "profiling", "t": 0, "own": own})
        source = f"""if True:
            import os
            open({str(tmp_path / "run.jsonl")!r}, "a").write({record!r} + chr(10))
            os.write(2, ("one" + chr(10) + {line!r} + {RAN!r} + "two").encode())
        """
        said = Launched(tmp_path, source).finish()[1].decode()
        assert said == f"one\n{'' if own else line}{RAN}two"

    @pytest.mark.parametrize("command", [["-u"], []])
    def test_the_programs_own_placement_log_comes_out(self, tmp_path: Path, command: list[str]) -> None:
        source = f"import sys; sys.stdout.write('a\\n' + {PLACED!r} + {PLACED[:20]!r}); sys.stderr.write({RAN!r})"
        options = {"command": [sys.executable, *command, str(tmp_path / "program.py")]}
        launched = Launched(tmp_path, source, options=options)
        assert launched.finish() == (f"a\n{PLACED}{PLACED[:20]}".encode(), RAN.encode())
        assert launched.capture.logs["stdout"].placements == launched.capture.logs["stderr"].placements == 1

    @pytest.mark.parametrize(("enabled", "shown"), [("True", True), ("False", False)])
    def test_log_that_the_program_asked_for_comes_out(self, tmp_path: Path, enabled: str, shown: bool) -> None:
        asked = {"kind": "call", "t": 0, "name": "set_log_device_placement", "where": None}
        asked |= {"arguments": {"enabled": enabled}, "outcome": "ok"}
        source = f"""if True:
            import sys
            {turning_the_log_on(tmp_path)}
            sys.stdout.write({PLACED!r})
            with open({str(tmp_path / "run.jsonl")!r}, "a") as capture:
                capture.write({json.dumps(asked)!r} + chr(10))
            for number in range(3):
                sys.stdout.write({PLACED!r})
            sys.stdout.write("end")
        """
        launched = Launched(tmp_path, source, options={"command": [sys.executable, "-u", str(tmp_path / "program.py")]})
        output = launched.finish()[0].decode()
        # The first line may arrive only after the program has asked.
        assert output in ((PLACED * 3 + "end", PLACED * 4 + "end") if shown else ("end",))
        assert launched.capture.logs["stdout"].placements == 4

    def test_messages_are_kept(self, tmp_path: Path) -> None:
        line = "I0000 00:00:1795224360.624055 5226 cudart_stub.cc:31] Could not find cuda drivers on your machine.\n"
        launched = Launched(tmp_path, f"import sys; sys.stderr.write({line * 3!r})")
        assert launched.finish()[1].decode() == line * 3
        assert launched.capture.logs["stderr"].messages == ["Could not find cuda drivers on your machine."]

    def test_prompts_come_out_while_the_program_waits(self, tmp_path: Path) -> None:
        launched = Launched(tmp_path, "print(input('Name: ')[::-1])", stdin=subprocess.PIPE)
        output = launched.process.stdout
        assert output is not None
        assert os.read(output.fileno(), 100) == b"Name: "
        assert launched.finish(b"Ada\n")[0] == b"adA\n"

    def test_a_line_that_grows_slowly_is_seen_to_grow(self, tmp_path: Path) -> None:
        source = "import sys, time\nfor _ in range(40): time.sleep(0.03); sys.stdout.write('.')"
        launched = Launched(tmp_path, source)
        output = launched.process.stdout
        assert output is not None
        assert 0 < len(os.read(output.fileno(), 100)) < 30
        launched.finish()

    def test_closed_output_ends_the_program_as_it_would_without_us(self, tmp_path: Path) -> None:
        source = """if True:
            number = 0
            while True:
                number += 1
                print("line", number)
        """
        head = subprocess.Popen(["head", "-1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        launched = Launched(tmp_path, source, stdout=head.stdin)
        assert head.stdin is not None
        head.stdin.close()
        _, errors = launched.finish()
        assert head.stdout is not None and head.stdout.read() == b"line 1\n" and head.wait(30) == 0
        assert b"BrokenPipeError" in errors
        assert launched.ended["status"] == 1 and launched.ended["faults"] == []

    def test_without_standard_output(self, tmp_path: Path) -> None:
        source = "import sys; print('lost'); print('kept', file=sys.stderr)"
        launched = Launched(tmp_path, source, stdout=None, preexec_fn=lambda: os.close(1))
        assert launched.finish()[1] == b"kept\n"
        assert launched.ended["status"] == 0 and launched.capture.end["status"] == 0

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
    def test_full_disk_behind_standard_output(self, tmp_path: Path) -> None:
        with open("/dev/full", "wb") as full:
            launched = Launched(tmp_path, "for n in range(100000): print('x' * 100)", stdout=full)
            launched.finish()
        assert launched.ended["status"] == 1
        assert launched.ended["faults"] == ["stdout: No space left on device"]

    def test_streams_that_go_to_one_place_stay_in_order(self, tmp_path: Path) -> None:
        source = f"""if True:
            import sys
            {turning_the_log_on(tmp_path)}
            for number in range(3000):
                sys.stdout.write("out %d\\n" % number + {PLACED!r})
                sys.stderr.write("err %d\\n" % number + {RAN + RAN.split("Executing")[0] + PLACED!r})
        """
        launched = Launched(tmp_path, source, stderr=subprocess.STDOUT)
        assert launched.finish()[0] == b"".join(b"out %d\nerr %d\n" % (n, n) for n in range(3000))
        logs = launched.capture.logs
        assert logs["stdout"].placed == logs["stderr"].placed == {("MatMul", "CPU:1"): 3000}
        assert logs["stdout"].ran == {} and logs["stderr"].ran == {("MatMul", "CPU:0"): 3000}
        assert (logs["stdout"].lines, logs["stderr"].lines) == (9000, 6000)

    def test_program_that_closes_its_output_itself(self, tmp_path: Path) -> None:
        source = "import os, sys, time; print('a'); os.close(1); time.sleep(0.3); sys.stderr.write('b')"
        launched = Launched(tmp_path, source)
        assert launched.finish() == (b"a\n", b"b")
        assert launched.ended["status"] == 0


class TestEnd:
    @pytest.mark.parametrize(
        ("source", "status", "number"),
        [
            ("pass", 0, None),
            ("import sys; sys.exit(7)", 7, None),
            ("raise ValueError", 1, None),
            ("import os; os._exit(3)", 3, None),
            ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", None, signal.SIGKILL),
            ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", None, signal.SIGSEGV),
        ],
    )
    def test_status_and_signal(self, tmp_path: Path, source: str, status: int | None, number: int | None) -> None:
        launched = Launched(tmp_path, source)
        launched.finish()
        ended, end = launched.ended, launched.capture.end
        assert (ended["status"], ended["signal"], ended["reason"]) == (status, number, "exit")
        assert (end["status"], end["signal"], end["reason"]) == (status, number, "exit")
        assert 0 < end["seconds"] < 30

    def test_start_is_in_the_capture(self, tmp_path: Path) -> None:
        launched = Launched(tmp_path, "", options={"program": ["train.py", "--fast"]}, cwd=tmp_path)
        launched.finish()
        start = launched.capture.start
        assert start["command"] == ["train.py", "--fast"] and start["directory"] == str(tmp_path)
        assert launched.capture.resident[0][1] > 0

    def test_command_that_cannot_be_started(self, tmp_path: Path) -> None:
        launched = Launched(tmp_path, "", options={"command": [str(tmp_path / "nothing")]})
        assert b"FileNotFoundError" in launched.finish()[1]
        assert "No such file" in launched.capture.faults[0]

    def test_timeout_of_a_program_that_ignores_sigterm(self, tmp_path: Path) -> None:
        source = """if True:
            import signal, subprocess, sys, time
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            print(child.pid, flush=True)
            time.sleep(600)
        """
        launched = Launched(tmp_path, source, options={"timeout": 4.0})
        child = int(launched.finish()[0])
        ended = launched.ended
        assert (ended["status"], ended["signal"], ended["reason"]) == (None, signal.SIGKILL, "timeout")
        assert 2 <= ended["seconds"] < 30
        until(lambda: not is_running(child))

    def test_timeout_asks_for_the_stacks_and_lets_the_program_clean_up(self, tmp_path: Path) -> None:
        source = f"""if True:
            import faulthandler, signal, sys, time
            faulthandler.register(signal.SIGUSR2, open({str(tmp_path / "run.jsonl.stacks")!r}, "w"), all_threads=True)
            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(9))
            def waits_here():
                time.sleep(600)
            waits_here()
        """
        launched = Launched(tmp_path, source, options={"timeout": 4.0})
        launched.finish()
        assert (launched.ended["status"], launched.ended["reason"]) == (9, "timeout")
        assert "waits_here" in (tmp_path / "run.jsonl.stacks").read_text()

    def test_hang(self, tmp_path: Path) -> None:
        launched = Launched(tmp_path, "import time; print('begun'); time.sleep(600)", options={"hang_after": 4.0})
        assert launched.finish()[0] == b"begun\n"
        assert (launched.ended["signal"], launched.ended["reason"]) == (signal.SIGTERM, "hang")

    def test_a_hang_of_the_agent_is_said_to_be_one(self, tmp_path: Path) -> None:
        source = f"""if True:
            import faulthandler, signal, threading, time
            from gpulint.probe.agent import internals
            faulthandler.register(signal.SIGUSR2, open({str(tmp_path / "run.jsonl.stacks")!r}, "w"), all_threads=True)
            exec(compile("def graphs(): time.sleep(600)", internals.__file__, "exec"))
            threading.Thread(target=graphs, daemon=True).start()
            time.sleep(600)
        """
        launched = Launched(tmp_path, source, options={"hang_after": 4.0, "warn_after": 1.0})
        _, errors = launched.finish()
        assert b"; gpulint itself waits for TensorFlow, in `graphs`, " in errors
        (fault,) = launched.capture.faults
        assert fault.startswith("hang: gpulint itself waits for TensorFlow, in `graphs`, ")
        assert fault.endswith("internals.py:1")

    @pytest.mark.parametrize(
        "work",
        ["sum(range(20_000)), time.sleep(0.02)", "print('.', end=''), time.sleep(0.3)"],
    )
    def test_work_is_no_hang(self, tmp_path: Path, work: str) -> None:
        source = f"import time; end = time.time() + 9\nwhile time.time() < end: {work}"
        launched = Launched(tmp_path, source, options={"hang_after": 4.0})
        launched.finish()
        assert (launched.ended["status"], launched.ended["reason"]) == (0, "exit")

    def test_a_full_device_is_reported_once(self, tmp_path: Path) -> None:
        line = (
            "W0000 00:00:1795691774.667838   14788 bfc_allocator.cc:502] Allocator (GPU_0_bfc) ran out of memory try"
            "ing to allocate 1.53GiB (rounded to 1641022208)requested by op \n"
        )
        source = f"""if True:
            import sys, time
            for number in range(3):
                sys.stderr.write({line!r})
                sys.stderr.flush()
                time.sleep(1.2)
        """
        _, errors = Launched(tmp_path, source).finish()
        said = [text for text in errors.decode().splitlines() if text.startswith("gpulint: ")]
        assert said == [
            "gpulint: GPU:0 could not allocate 1.53GiB. TensorFlow retries each failed allocation for 10 s, so the "
            "program may look hung."
        ]

    def test_silence_is_reported_and_the_program_continues(self, tmp_path: Path) -> None:
        source = """if True:
            import faulthandler, signal, time
            stacks = open("run.jsonl.stacks", "w")
            faulthandler.register(signal.SIGUSR2, file=stacks, all_threads=True)
            def waits_here():
                time.sleep(5)
            waits_here()
            print("done")
        """
        launched = Launched(tmp_path, source, options={"warn_after": 2.0}, cwd=tmp_path)
        output, errors = launched.finish()
        assert (output, launched.ended["status"], launched.ended["reason"]) == (b"done\n", 0, "exit")
        (line,) = errors.decode().splitlines()
        assert line.startswith("gpulint: no sign of life for 2 s; it is in `waits_here`, ")
        assert line.endswith("program.py:6. --hang-after S stops such a program.")
        assert not (tmp_path / "run.jsonl.stacks").exists()

    def test_no_hang_while_nobody_reads_our_output(self, tmp_path: Path) -> None:
        launched = Launched(tmp_path, "print('x' * 1_000_000)", options={"hang_after": 1.5})
        time.sleep(4)
        assert len(launched.finish()[0]) == 1_000_001
        assert launched.ended["reason"] == "exit"

    @pytest.mark.parametrize("talks", [False, True])
    def test_grandchild_that_keeps_the_pipe_does_not_keep_us(self, tmp_path: Path, talks: bool) -> None:
        source = f"""if True:
            import os, time
            if os.fork() == 0:
                os.setsid()
                end = time.time() + 60
                while time.time() < end:
                    {"os.write(1, b'noise' * 100)" if talks else "time.sleep(1)"}
                os._exit(0)
            print("last words", flush=True)
        """
        launched = Launched(tmp_path, source)
        output = launched.finish()[0]
        assert b"last words" in output
        assert launched.ended["status"] == 0 and launched.ended["seconds"] < 30


class TestSurroundings:
    def test_standard_input_directory_environment_and_arguments(self, tmp_path: Path) -> None:
        source = """if True:
            import json, os, sys
            json.dump([sys.stdin.buffer.read().hex(), os.getcwd(), os.environ["GIVEN"], sys.argv[1:]], sys.stdout)
        """
        command = [sys.executable, str(tmp_path / "program.py"), "", "a b", "*", "ü"]
        options = {"command": command, "environment": {**os.environ, "GIVEN": "a\nb"}}
        given = bytes(range(256)) * 1000
        launched = Launched(tmp_path, source, options=options, cwd=tmp_path, stdin=subprocess.PIPE)
        assert json.loads(launched.finish(given)[0]) == [given.hex(), str(tmp_path), "a\nb", ["", "a b", "*", "ü"]]

    def test_files_that_the_user_opened_for_it(self, tmp_path: Path) -> None:
        reading, writing = os.pipe()
        os.set_inheritable(reading, True)
        with open(writing, "wb") as given:
            given.write(b"substituted")
        source = f"print(open({reading}, 'rb').read())"
        launched = Launched(tmp_path, source, pass_fds=[reading])
        os.close(reading)
        assert launched.finish()[0] == b"b'substituted'\n"

    def test_nothing_of_ours_is_open_in_it(self, tmp_path: Path) -> None:
        launched = Launched(tmp_path, "import os; print(sorted(map(int, os.listdir('/dev/fd')))[:-1])")
        assert launched.finish()[0] == b"[0, 1, 2]\n"

    def test_programs_that_fork_and_change_directory(self, tmp_path: Path) -> None:
        source = """if True:
            import multiprocessing, os
            os.chdir("/")
            def work(number):
                os.write(1, b"work %d\\n" % number)
            if __name__ == "__main__":
                context = multiprocessing.get_context("fork")
                workers = [context.Process(target=work, args=(number,)) for number in range(3)]
                [worker.start() for worker in workers]
                [worker.join() for worker in workers]
                print("done", os.getcwd())
        """
        # The capture's path is relative to our working directory, not to the one that the program changes to.
        launched = Launched(tmp_path, source, options={"capture_path": "run.jsonl"}, cwd=tmp_path)
        lines = launched.finish()[0].splitlines()
        assert sorted(lines[:3]) == [b"work 0", b"work 1", b"work 2"] and lines[3] == b"done /"
        assert launched.capture.end["status"] == 0

    def test_capture_that_cannot_be_written(self, tmp_path: Path) -> None:
        path = str(tmp_path / "missing" / "run.jsonl")
        source = f"import os; os.mkdir({str(tmp_path / 'missing')!r}); print('ran')"
        launched = Launched(tmp_path, source, options={"capture_path": path})
        assert launched.finish()[0] == b"ran\n"
        ended = json.loads(Path(f"{path}.ended").read_text())
        assert ended["status"] == 0 and ended["faults"] == [f"{path}: No such file or directory"]


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
    @pytest.mark.parametrize("before", [signal.SIG_DFL, signal.SIG_IGN])
    def test_signals_to_us_are_passed_on(self, tmp_path: Path, number: signal.Signals, before: signal.Handlers) -> None:
        def prepare() -> None:
            signal.signal(number, before)

        launched = Launched(tmp_path, WAITING, start_new_session=True, preexec_fn=prepare)
        assert launched.line() == b"ready\n"
        launched.process.send_signal(number)
        assert launched.finish()[0] == b"got %s\n" % number.name.encode()
        reason = "interrupt" if before == signal.SIG_DFL else "exit"
        assert (launched.ended["status"], launched.ended["reason"]) == (5, reason)

    def test_signals_that_ask_for_no_end(self, tmp_path: Path) -> None:
        launched = Launched(tmp_path, WAITING, options={"timeout": 20.0})
        assert launched.line() == b"ready\n"
        launched.process.send_signal(signal.SIGUSR1)
        assert launched.line() == b"got SIGUSR1\n"
        launched.process.send_signal(signal.SIGTERM)
        assert launched.finish()[0] == b"got SIGTERM\n"

    def test_signals_that_were_ignored_stay_so(self, tmp_path: Path) -> None:
        source = "import signal; print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, flush=True); input()"
        launched = Launched(
            tmp_path,
            source,
            stdin=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        )
        assert launched.line() == b"True\n"
        launched.process.send_signal(signal.SIGHUP)
        launched.finish(b"\n")
        assert (launched.ended["status"], launched.ended["reason"]) == (0, "exit")

    @pytest.mark.parametrize("whose", ["program", "launcher"])
    def test_capture_can_be_read_after_kill_9(self, tmp_path: Path, whose: str) -> None:
        launched = Launched(tmp_path, "import os, time; print(os.getpid(), flush=True); time.sleep(600)")
        program = int(launched.line())
        until(lambda: records(launched, "host"))
        os.kill(program if whose == "program" else launched.process.pid, signal.SIGKILL)
        if whose == "program":
            launched.finish()
            assert (launched.capture.end["status"], launched.capture.end["signal"]) == (None, signal.SIGKILL)
        else:
            launched.process.wait(30)
            os.kill(program, signal.SIGKILL)
            launched.finish()
            assert launched.capture.end == {}
        assert launched.capture.torn == 0 and launched.capture.start["version"] == 1
