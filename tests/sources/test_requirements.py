"""Requirements of TensorFlow, in all files and forms that projects use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.settings import Settings, SettingsFinder
from gpulint.sources.requirements import pinned
from tests.checking import codes_in

NEWEST = "2.21"


def release_of(directory: Path) -> str | None:
    named = pinned(str(directory), NEWEST, SettingsFinder().text)
    return named.release if named is not None else None


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("requirements.txt", "numpy\ntensorflow==2.12.0\n", "2.12"),
        ("Requirements.txt", "tensorflow-gpu == 2.4.0", "2.4"),
        ("requirements.txt", "numpy\ntensorflow-gpu\n", "2.11"),
        ("requirements.txt", "tensorflow-gpu==2.4.0\ntensorflow_gpu", "2.11"),
        ("environment.yml", "dependencies:\n  - tensorflow-gpu\n", "*"),
        ("requirements-dev.txt", "tensorflow~=2.4.1 ; python_version < '3.9'", "2.4"),
        ("requirements.in", "tensorflow>=2.3,<2.5  # not 2.5", "2.4"),
        ("requirements.txt", "tensorflow==2.16.*", "2.16"),
        ("requirements.txt", "tensorflow<2", "1.15"),
        ("requirements.txt", "tensorflow>=2.4", ""),
        ("requirements.txt", "tensorflow", "*"),
        ("requirements.txt", "tensorflow==2.21.0", "2.21"),
        ("requirements.txt", "tensorflow<2.30", "2.21"),
        ("requirements.txt", "tensorflow==2.30.0", "2.21"),
        ("requirements.txt", "tensorflow==2.12.0\ntensorflow-cpu", ""),
        ("requirements.txt", "tensorflow==2.4.0\ntensorflow-macos==2.9.2", "2.9"),
        ("requirements.txt", "tensorflow==2.4.0rc1", "2.4"),
        ("requirements.txt", "tf_nightly==2.3.0.dev20200515 # validated", "2.3"),
        ("requirements.txt", "tf-nightly", "*"),
        ("requirements.txt", "tensorflow==some.where", ""),
        ("requirements.txt", "tensorflow = ~", ""),
        ("requirements.txt", f"tensorflow=={'9' * 5000}", ""),
        ("requirements.txt", "tensorflow-addons==0.13", None),
        ("requirements.txt", "gym==0.15.6\nkeras==2.3.1", "2.3"),
        ("requirements.txt", "tensorflow\nkeras==2.9.0", "2.9"),
        ("requirements.txt", "tensorflow==2.12.0\nkeras==2.11.0", "2.12"),
        ("requirements.txt", "keras>=2.4", None),
        ("requirements.txt", "keras==3.4.1\ntensorflow", "*"),
        ("requirements.txt", "keras-tuner==1.0\n", None),
        ("requirements.txt", "# tensorflow==2.1", None),
        ("requirements.txt", "git+https://example.org/tensorflow==2.1", None),
        ("notes.txt", "tensorflow==2.1", None),
        ("environment-gpu.yaml", "dependencies:\n  - tensorflow-gpu=1.13.1=h0d30ee6_0\n", "1.13"),
        ("train_env.yml", "dependencies:\n  - tensorflow=2.2.0=gpu_py37h1a511ff_0\n", "2.2"),
        ("environment.yml", "dependencies:\n  - pip:\n    - tensorflow==2.3\n", "2.3"),
        ("environment.yml", "dependencies:\n  - tensorflow\n", "*"),
        ("tf.yaml", "name: tf\ndependencies:\n  - tensorflow=2.4.1=gpu_py37\n", "2.4"),
        ("chart.yaml", "values:\n  - tensorflow=2.4.1\n", None),
        ("constraints.txt", "tensorflow==2.8.0", "2.8"),
        ("env/tf2.yml", "dependencies:\n  - tensorflow=2.10.0\n", "2.10"),
        ("requirements/base.txt", "tensorflow==2.7", "2.7"),
        ("notes/base.txt", "tensorflow==2.7", None),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = "~2.4"\n', "2.4"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = "^2.4"\n', ""),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = {version = "2.4.1", optional = true}\n', "2.4"),
        ("pyproject.toml", 'dependencies = ["tensorflow[and-cuda]>=2.3,<2.6", "x"]\nkeywords = ["tensorflow"]', "2.5"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = {version = "=1.15.3", markers = "x"}\n', "1.15"),
        ("Pipfile", '[packages]\ntensorflow = "==2.5.0"\n', "2.5"),
        ("Pipfile", '[packages]\ntensorflow = "*"\n', ""),
        ("setup.py", 'install_requires=["numpy", "tensorflow<2.9"],', "2.8"),
        ("setup.cfg", "install_requires =\n    tensorflow (>=2.2,<2.4)\n", "2.3"),
        ("setup.py", 'name="some-tensorflow"', None),
        ("setup.py", 'TF = "2.11"  # and no other\ninstall_requires = [f"tensorflow=={TF}"]', "2.11"),
        ("setup.py", 'install_requires = [f"tensorflow=={read()}"]', ""),
        ("poetry.lock", '[[package]]\nname = "tensorflow"\nversion = "2.15.0"\ndescription = "x"\n', "2.15"),
        ("uv.lock", '[[package]]\nname = "tensorflow-cpu"\nversion = "2.16.1"\nsource = { registry = "x" }\n', "2.16"),
        ("poetry.lock", '[[package]]\nname = "tensorflow-io"\nversion = "0.15.0"\n', None),
        ("Pipfile.lock", '{"default": {"tensorflow": {"hashes": ["a"], "version": "==2.5.1"}}}', "2.5"),
        ("conda-lock.yml", "package:\n- name: tensorflow\n  version: 2.11.0\n  manager: conda\n", "2.11"),
        ("PKG-INFO", "Requires-Dist: numpy\nRequires-Dist: tensorflow (<2.13,>=2.4)", "2.12"),
    ],
)
def test_what_a_file_pins(name: str, text: str, expected: str | None, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert release_of(tmp_path) == expected


def test_a_setup_file_reads_what_it_needs_from_another(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "core/needs.txt").write_text("numpy\ntensorflow==2.5.2\n", encoding="utf-8")
    (tmp_path / "setup.py").write_text('with open("core/needs.txt") as f:\n    needs = f.read()\n', encoding="utf-8")
    assert release_of(tmp_path) == "2.5"
    (tmp_path / "core/needs.txt").unlink()
    assert release_of(tmp_path) is None


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({"setup.py": 'install_requires=["tensorflow>=2.3"]'}, "2.3"),
        ({"environment.yml": "dependencies:\n- tensorflow=2.8"}, "2.8"),
        ({"setup.py": 'install_requires=["tensorflow>=2.3"]', "requirements.txt": "numpy"}, ""),
        ({"requirements.txt": "tensorflow==2.21"}, "2.21"),
    ],
    ids=["a bound below", "two that name one", "none but for tests", "the newest"],
)
def test_a_file_that_names_a_release_goes_before_those_that_take_any(
    others: dict[str, str], expected: str, tmp_path: Path
) -> None:
    for name, text in {"requirements.txt": "tensorflow==2.3.0", "requirements-test.txt": "tensorflow==2.5"}.items():
        (tmp_path / name).write_text(text)
    for name, text in others.items():
        (tmp_path / name).write_text(text)
    assert release_of(tmp_path) == expected


@given(st.binary(max_size=60), st.sampled_from(["tensorflow==", "tensorflow = ", "tensorflow", ""]))
def test_no_content_of_a_file_is_an_error(tmp_path_factory: pytest.TempPathFactory, data: bytes, before: str) -> None:
    directory = tmp_path_factory.mktemp("project")
    (directory / "requirements.txt").write_bytes(before.encode() + data)
    assert release_of(directory) is None or isinstance(release_of(directory), str)


def test_the_nearest_directory_with_a_requirement_counts(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==2.4.1")
    inner = tmp_path / "inner" / "deep"
    inner.mkdir(parents=True)
    assert SettingsFinder().of_directory(str(inner)).target_tensorflow == "2.4"
    (inner.parent / "environment.yml").write_text("dependencies:\n- tensorflow=2.10")
    assert SettingsFinder().of_directory(str(inner)).target_tensorflow == "2.10"
    (inner.parent / "environment.yml").write_text("dependencies:\n- tensorflow")
    assert SettingsFinder().of_directory(str(inner)).target_tensorflow == NEWEST


def test_what_is_asked_for_counts_more(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==2.4.1")
    (tmp_path / "gpulint.toml").write_text(f'target-tensorflow = "{NEWEST}"')
    assert SettingsFinder().of_directory(str(tmp_path)).target_tensorflow == NEWEST
    (tmp_path / "gpulint.toml").unlink()
    asked = SettingsFinder(overrides=({"target-tensorflow": NEWEST},))
    assert asked.of_directory(str(tmp_path)).target_tensorflow == NEWEST
    assert SettingsFinder(isolated=True).of_directory(str(tmp_path)).target_tensorflow == NEWEST


def test_a_repository_ends_at_its_root(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==2.4.1")
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    assert SettingsFinder().of_directory(str(repository)).target_tensorflow == NEWEST


def test_names_of_the_pinned_release_are_not_removed(tmp_path: Path) -> None:
    program = 'import tensorflow as tf\n\npolicy = tf.keras.mixed_precision.experimental.Policy("mixed_float16")\n'
    assert codes_in(program, tmp_path) == {"GPU901"}
    (tmp_path / "requirements.txt").write_text("tensorflow==2.4.1")
    assert codes_in(program, tmp_path) == set()


def test_settings_made_in_code_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==2.4.1")
    made = Settings(root=str(tmp_path), target_tensorflow="2.16")
    assert SettingsFinder(made).of_directory(str(tmp_path)).target_tensorflow == "2.16"
