"""The package as an installation: version, types, imports, the command."""

import ast
import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import zeroloss
from zeroloss import _core

FOLDER = Path(zeroloss.__file__).parent


def python(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120, **options)


def test_version_is_one():
    installed = importlib.metadata.version("zeroloss")
    assert zeroloss.__version__ == installed
    assert python("-m", "zeroloss", "--version").stdout == f"zeroloss {installed}\n"


def test_types_are_there_and_whole():
    assert (FOLDER / "py.typed").is_file()
    stub = ast.parse((FOLDER / "_core.pyi").read_text())
    described = {node.name: node for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    described |= {node.target.id: node for node in stub.body if isinstance(node, ast.AnnAssign)}
    for name, value in vars(_core).items():
        if not name.startswith("_"):
            assert name in described, name
        if isinstance(value, type) and issubclass(value, Exception) is False:
            members = {node.name for node in described[name].body if isinstance(node, ast.FunctionDef)}
            assert {m for m in vars(value) if not m.startswith("_")} <= members, name


def test_every_public_name_has_words():
    for name in zeroloss.__all__:
        value = getattr(zeroloss, name)
        if callable(value) and not (isinstance(value, type) and issubclass(value, Exception)):
            assert value.__doc__, name
    for module in (zeroloss.kernel, zeroloss.linear):
        assert all(getattr(module, name).__doc__ for name in module.__all__)


def test_import_is_light_and_changes_nothing():
    done = python(
        "-c",
        "import os, sys; before = dict(os.environ); import zeroloss; assert dict(os.environ) == before;"
        "print(os.getpid(), *sorted({m.split('.')[0] for m in sys.modules} & {'sklearn', 'scipy', 'tqdm', 'pandas'}))",
    )
    assert done.returncode == 0 and done.stdout.split()[1:] == []


def test_without_scikit_learn_only_estimators_are_missing():
    done = python("-c", "import sys; sys.modules['sklearn'] = None; import zeroloss; zeroloss.certify('digits', n=20);"
                        "zeroloss.NTKClassifier")  # fmt: skip
    assert "ModuleNotFoundError" in done.stderr and "estimators" in done.stderr


def test_the_command_is_the_same_from_its_script_and_as_a_module():
    script = Path(sys.executable).parent / "zeroloss"
    lines = [[str(script)], [sys.executable, "-m", "zeroloss"]] if script.exists() else [[sys.executable, "-m", "zeroloss"]]
    for line in lines:
        good = subprocess.run([*line, "certify", "sphere:n=9,d=3"], capture_output=True, text=True)
        assert good.returncode == 0 and "lambda_min" in good.stdout and good.stderr == ""
        bad = subprocess.run([*line, "certify", "nowhere.csv"], capture_output=True, text=True)
        assert bad.returncode == 2 and bad.stdout == "" and bad.stderr.startswith("zeroloss: 'nowhere.csv'")
        failed = subprocess.run([*line, "certify", "sphere:n=9,d=3", "--require", "lambda_min>=9"], capture_output=True)
        assert failed.returncode == 1


def test_the_command_chooses_blas_kernels_once():
    """It starts again at most once: what is set stays as it is."""
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Haswell"}
    done = python("-m", "zeroloss", "info", env=environment)
    assert done.returncode == 0
    if "OpenBLAS" in zeroloss.blas_info().library:
        assert "Haswell" in done.stdout
    free = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
    assert "warning" not in python("-m", "zeroloss", "info", env=free).stdout
