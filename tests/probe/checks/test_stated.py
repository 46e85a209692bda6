"""The user's expectations, checked against captures that differ in one relevant point."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from gpulint.probe import checks
from gpulint.probe.capture.contents import Capture, Log
from gpulint.probe.capture.records import Copy, Execution, Lines, Node, Stated, Where
from gpulint.probe.checks import simulated
from gpulint.probe.checks.verify import STATED, exit_status, verify
from gpulint.probe.expectations import levels
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status, UserExpectation
from gpulint.probe.expectations.requested import requested_expectations
from gpulint.settings import ProbeSettings, Settings, SettingsError, load

LINE = Where("/p/a.py", 7)


def stated(form: str, expected: str, **fields: object) -> Stated:
    empty = Stated(form, expected, "a value", LINE, Counter(), Counter(), Counter(), None, None, "")
    return empty._replace(**fields)  # type: ignore[arg-type]


def of(capture: Capture, *texts: UserExpectation, settings: Settings | None = None) -> list[Expectation]:
    return verify(Run(capture, (), texts, settings or Settings()), STATED)


def one(expectation: Stated, capture: Capture | None = None, settings: Settings | None = None) -> Expectation:
    capture = capture or Capture(logical=("CPU:0", "GPU:0"))
    capture.stated[1] = expectation
    (found,) = of(capture, settings=settings)
    return found


def on_gpu(share: int) -> Capture:
    shares = {"GPU:0": share, "CPU:0": 100 - share}
    executions = Counter({Execution(LINE, "MatMul", "", device): count for device, count in shares.items()})
    return Capture(executions=+executions, logical=("CPU:0", "GPU:0"), tensorflow={"tensorflow": "2.21.0"})


def test_an_expression_holds_or_is_broken_with_limit_actual_and_evidence() -> None:
    want = UserExpectation("ops.on_gpu >= 90%", "settings", Where("/p/gpulint.toml", 2))
    (held,) = of(on_gpu(95), want)
    assert (held.status, held.observed) == (Status.PASS, "95%")
    (broken,) = of(on_gpu(80), want)
    assert (broken.id, broken.status, broken.level, broken.where) == ("expect", Status.FAIL, Level.ERROR, want.where)
    assert (broken.subject, broken.expected, broken.observed) == ("ops.on_gpu", ">= 90%", "80%")
    assert broken.evidence == ("80 of 100 there", "20 × MatMul on CPU:0")
    assert exit_status([broken], {"status": 0}, strict=False) == 1


def test_without_evidence_an_expression_is_inconclusive() -> None:
    (found,) = of(Capture(), UserExpectation("ops.on_gpu >= 0%", "--expect"))
    assert (found.status, found.observed) == (Status.INCONCLUSIVE, "no op with a choice of device was observed")


def test_the_program_counts_before_the_settings_and_those_before_the_command_line() -> None:
    capture = on_gpu(80)
    capture.stated[1] = stated("that", "ops.on_gpu >= 70%")
    found = of(
        capture, UserExpectation("ops.on_gpu >= 90%", "--expect"), UserExpectation("ops.on_gpu > 95%", "settings")
    )
    assert {(each.expected, each.status, each.observed) for each in found} == {
        (">= 70%", Status.PASS, "80%"),
        ("> 95%", Status.SKIP, "the program says `ops.on_gpu >= 70%`, which takes precedence"),
        (">= 90%", Status.SKIP, "the program says `ops.on_gpu >= 70%`, which takes precedence"),
    }


def test_another_side_or_device_of_a_metric_is_another_expectation() -> None:
    texts = ("ops.on_gpu >= 70%", "ops.on_gpu <= 85%", "ops.on[CPU:0] >= 10%")
    found = of(
        on_gpu(80), UserExpectation(texts[0], "settings"), *(UserExpectation(text, "--expect") for text in texts[1:])
    )
    assert [each.status for each in found] == [Status.PASS] * 3
    twice = of(
        on_gpu(80), UserExpectation("ops.on_gpu >= 70%", "--expect"), UserExpectation("ops.on_gpu >= 90%", "--expect")
    )
    assert [each.status for each in twice] == [Status.FAIL, Status.PASS]  # one source may say both


def test_an_expression_of_the_program_that_cannot_be_read_fails_on_its_line() -> None:
    found = one(stated("that", "ops.on_gup >= 90%"))
    assert (found.status, found.where) == (Status.FAIL, LINE)
    assert "did you mean `ops.on_gpu`?" in found.observed
    capture = on_gpu(80)
    capture.stated |= {1: stated("that", "ops.on_gup >= 90%"), 2: stated("that", "ops.on_gpu >= 70%")}
    assert [each.status for each in of(capture)] == [Status.FAIL, Status.PASS]


def test_without_a_gpu_expectations_of_gpus_fail_or_are_skipped_as_the_settings_say() -> None:
    capture = Capture(executions=on_gpu(0).executions, logical=("CPU:0",))
    want = UserExpectation("ops.on_gpu >= 90%", "--expect")
    (failed,) = of(capture, want)
    assert failed.status is Status.FAIL
    assert failed.evidence[0] == "TensorFlow has no GPU on this machine"
    lenient = Settings(probe=ProbeSettings(without_gpu="skip"))
    (skipped,) = of(capture, want, settings=lenient)
    assert (skipped.status, skipped.observed) == (Status.SKIP, "TensorFlow has no GPU on this machine")
    variable = stated("on", "GPU", objects=Counter({("kernel", "CPU:0"): 1}))
    assert one(variable, replace(capture)).status is Status.FAIL
    assert one(variable, replace(capture), lenient).status is Status.SKIP
    cpu = UserExpectation("ops.on_cpu == 100%", "--expect")
    assert cpu.text in {f"{each.subject} {each.expected}" for each in of(capture, cpu, settings=lenient)}


def test_values_are_where_they_are_expected_or_not() -> None:
    there = stated("on", "GPU", objects=Counter({("kernel", "GPU:0"): 1, ("bias", "GPU:1"): 1}))
    assert one(there).status is Status.PASS
    elsewhere = one(there._replace(expected="/gpu:1"))
    assert (elsewhere.id, elsewhere.status, elsewhere.where) == ("expect-on", Status.FAIL, LINE)
    assert elsewhere.observed == "1 on GPU:0, 1 on GPU:1"
    assert elsewhere.evidence == ("1 × kernel on GPU:0",)
    nowhere = one(stated("on", "GPU", missing="it has no variables"))
    assert (nowhere.status, nowhere.observed) == (Status.INCONCLUSIVE, "it has no variables")
    assert one(stated("on", "fast")).observed == "`fast` is not a device; write `GPU`, `GPU:0` or `CPU`"


def test_bookkeeping_says_nothing_about_where_a_block_ran() -> None:
    ops = Counter({("MatMul", "GPU:0"): 3, ("Const", "CPU:0"): 5})
    assert one(stated("on", "GPU", ops=ops)).status is Status.PASS
    assert one(stated("on", "GPU", ops=Counter({("Const", "CPU:0"): 5}))).status is Status.INCONCLUSIVE


def test_what_has_no_kernel_for_a_gpu_need_not_be_on_one() -> None:
    ops = Counter({("MatMul", "GPU:0"): 3, ("DecodePng", "CPU:0"): 5})
    capture = Capture(
        executions=Counter({Execution(LINE, "DecodePng", "", "CPU:0", "string"): 5}), logical=("CPU:0", "GPU:0")
    )
    assert one(stated("on", "GPU", ops=ops), capture).status is Status.PASS
    assert one(stated("on", "CPU:0", ops=Counter({("DecodePng", "CPU:0"): 5})), capture).status is Status.PASS
    assert one(stated("on", "CPU:1", ops=Counter({("DecodePng", "CPU:0"): 5})), capture).status is Status.FAIL


def test_what_is_known_to_be_wrong_is_broken_though_more_is_missing() -> None:
    ops = Counter({("MatMul", "CPU:0"): 3})
    assert one(stated("on", "GPU", ops=ops, missing="no graph was recorded for `f`")).status is Status.FAIL
    right = one(stated("on", "CPU", ops=ops, missing="no graph was recorded for `f`"))
    assert (right.status, right.observed) == (Status.INCONCLUSIVE, "no graph was recorded for `f`")


def test_a_function_is_looked_for_by_its_lines() -> None:
    def capture() -> Capture:
        return Capture(
            executions=Counter({Execution(Where("/p/a.py", 12), "MatMul", "", "CPU:0"): 1}),
            nodes=Counter({Node(Where("/p/a.py", 11), "MatMul", "", "GPU:0", ""): 4}),
            logical=("CPU:0", "GPU:0"),
        )

    assert one(stated("on", "GPU", lines=Lines("/p/a.py", 10, 11, "")), capture()).status is Status.PASS
    assert one(stated("on", "GPU", lines=Lines("/p/a.py", 10, 12, "")), capture()).status is Status.FAIL
    assert one(stated("on", "GPU", lines=Lines("/p/a.py", 12, 12, "Add")), capture()).status is Status.INCONCLUSIVE
    assert one(stated("on", "GPU", lines=Lines("/p/b.py", 10, 12, "")), capture()).status is Status.INCONCLUSIVE
    assert one(stated("on", "GPU", lines=Lines("/p/a.py", 10, 12, "", 0)), capture()).status is Status.INCONCLUSIVE


def test_traces_are_checked_against_their_limit() -> None:
    assert one(stated("traces", "1", traces=1)).status is Status.PASS
    broken = one(stated("traces", "1", traces=4))
    assert (broken.id, broken.status, broken.observed) == ("expect-traces", Status.FAIL, "4")
    assert one(stated("traces", "1", traces=0)).status is Status.INCONCLUSIVE
    assert one(stated("traces", "1")).observed == "it is not a `tf.function`"
    assert one(stated("traces", "few", traces=1)).status is Status.FAIL


def test_copies_in_a_block_are_found() -> None:
    copies = Counter({Copy("_Send", "GPU:0", "CPU:0"): 2})
    broken = one(stated("copies", "0", copies=copies, missing="no graph was recorded for `f`"))
    assert (broken.id, broken.status, broken.observed) == ("expect-copies", Status.FAIL, "2")
    assert broken.evidence == ("2 × _Send from GPU:0 to CPU:0",)
    assert one(stated("copies", "0")).status is Status.PASS
    assert one(stated("copies", "0", missing="no graph was recorded for `f`")).status is Status.INCONCLUSIVE


def disagreement(capture: Capture) -> list[Expectation]:
    return [each for each in verify(Run(capture)) if each.id == "sources-disagree"]


def logged(*ran: tuple[str, str], **fields: object) -> Capture:
    log = Log(lines=9, placements=9, ran=Counter(dict.fromkeys(ran, 2)), **fields)  # type: ignore[arg-type]
    return Capture(executions=on_gpu(100).executions, logs={"stderr": log})


def test_a_log_that_contradicts_the_agent_is_shown() -> None:
    (found,) = disagreement(logged(("_MklMatMul", "CPU:0")))
    assert (found.status, found.level) == (Status.WARN, Level.WARN)
    assert found.expected == "CPU:0, as TensorFlow's placement log says"
    assert found.observed == "GPU:0, as the probe saw"
    assert found.evidence == ("the log names 2 × CPU:0", "the probe saw 100 × GPU:0")


@pytest.mark.parametrize(
    "capture",
    [
        logged(),
        logged(("Add", "CPU:0")),
        logged(("MatMul", "GPU:0"), ("MatMul", "CPU:0")),
        logged(("MatMul", "CPU:0"), torn=1),
        Capture(logs={"stderr": Log(ran=Counter({("MatMul", "CPU:0"): 1}))}),
    ],
    ids=["nothing logged", "another op", "one device more", "a torn log", "nothing seen"],
)
def test_what_only_one_source_has_seen_is_no_contradiction(capture: Capture) -> None:
    assert disagreement(capture) == []


def test_levels_of_checks_are_those_of_the_settings() -> None:
    want = UserExpectation("ops.on_gpu >= 90%", "--expect")

    def levelled(level: str) -> list[tuple[Status, Level]]:
        found = of(on_gpu(80), want, settings=Settings(probe=ProbeSettings(level=(("expect", level),))))
        return [(each.status, each.level) for each in found]

    assert levelled("warn") == [(Status.WARN, Level.WARN)]
    assert levelled("error") == [(Status.FAIL, Level.ERROR)]
    assert levelled("off") == []


def test_every_check_that_reports_something_is_listed_with_its_id() -> None:
    """`[tool.gpulint.probe.level]` must be able to name it."""
    found = set(simulated.UNSAID)
    for path in Path(checks.__file__).parent.glob("*.py"):
        module = import_module(f"gpulint.probe.checks.{path.stem}")
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in (
                "Expectation",
                "held",
                "undecided",
                "violated",
            ):
                first = call.args[0]
                if isinstance(first, ast.Name) and first.id != "id":
                    found.add(getattr(module, first.id))
    assert found == set(levels.IDS)


def test_an_ignored_check_is_left_out() -> None:
    expected = [Expectation(id, Status.FAIL, Level.ERROR, "", "", "") for id in ("retrace", "copies")]
    settings = Settings(probe=ProbeSettings(ignore=("copies",), level=(("copies", "error"),)))
    assert [one.id for one in levels.with_levels(expected, settings)] == ["retrace"]


def test_a_level_of_no_check_names_file_line_and_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "gpulint.toml"
    path.write_text('[probe]\n[probe.level]\nretrase = "off"\n')
    settings = load(str(path))
    assert settings is not None
    with pytest.raises(SettingsError, match=r"gpulint\.toml:3: .* no check `retrase`; did you mean `retrace`\?"):
        levels.validate(settings)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ('[probe]\nexpect = [\n  "steps >= 1",\n  "ops.on_gup >= 90%",\n]\n', 4),
        ('[probe.expect]\nsteps = ">= 1"\n"ops.on_gup" = ">= 90%"\n', 3),
    ],
)
def test_an_expression_of_the_settings_that_cannot_be_read_names_file_and_line(
    tmp_path: Path, text: str, row: int
) -> None:
    path = tmp_path / "gpulint.toml"
    path.write_text(text)
    settings = load(str(path))
    assert settings is not None
    with pytest.raises(SettingsError, match=rf"gpulint\.toml:{row}: .*did you mean `ops\.on_gpu`\?"):
        requested_expectations(settings)
    path.write_text(text.replace("gup", "gpu"))
    settings = load(str(path))
    assert settings is not None
    assert requested_expectations(settings, ["steps < 9"])[1:] == [
        UserExpectation("ops.on_gpu >= 90%", "settings", Where(str(path), row)),
        UserExpectation("steps < 9", "--expect"),
    ]
