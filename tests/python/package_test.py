"""The package as an installation: version, types, imports, the command."""

import ast
import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

import zeroloss
from zeroloss import _core

FOLDER = Path(zeroloss.__file__).parent
ROOT = Path(__file__).resolve().parents[2]


def python(*arguments, timeout=120, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=timeout, **options)


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


def test_types_are_right(tmp_path):
    """mypy --strict, with the stub that lies beside the extension; of a copy, since mypy takes no installed package."""
    shutil.copytree(FOLDER, tmp_path / "zeroloss", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    line = ["-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", os.devnull, tmp_path / "zeroloss"]
    done = python(*map(str, line), timeout=600)
    assert done.returncode == 0, done.stdout


def test_types_catch_a_users_slips(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "zeroloss", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    script = tmp_path / "script.py"
    script.write_text(
        "import zeroloss\n"
        'zeroloss.fit("digits", optimizer="adam")\n'
        'zeroloss.typo("digits")\n'
        'print(zeroloss.NTKClassifier(), zeroloss.estimators, zeroloss.report, zeroloss.fit("digits", n=9).steps)\n'
    )
    line = ["-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", os.devnull, script]
    done = python(*map(str, line), timeout=600, cwd=tmp_path)
    assert [error.split(":")[1] for error in done.stdout.splitlines() if ": error:" in error] == ["2", "3"], done.stdout


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
    lines = [[str(script)],
             [sys.executable, "-m", "zeroloss"]] if script.exists() else [[sys.executable, "-m", "zeroloss"]]
    for line in lines:
        good = subprocess.run([*line, "certify", "sphere:n=9,d=3"], capture_output=True, text=True)
        assert good.returncode == 0 and "lambda_min" in good.stdout and good.stderr == ""
        bad = subprocess.run([*line, "certify", "nowhere.csv"], capture_output=True, text=True)
        assert bad.returncode == 2 and bad.stdout == "" and bad.stderr.startswith("zeroloss: 'nowhere.csv'")
        failed = subprocess.run([*line, "certify", "sphere:n=9,d=3", "--require", "lambda_min>=9"], capture_output=True)
        assert failed.returncode == 1


def test_the_command_chooses_blas_kernels_once(tmp_path):
    """It starts again at most once, where something is better than what is set; what is set stays as it is."""
    note = "import os; open(os.environ['STARTS'], 'a').write(f'{os.getpid()} ')"
    (tmp_path / "sitecustomize.py").write_text(note)
    free = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS")}
    free["PYTHONPATH"] = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))

    def starts(*command, **environment):
        """How often an interpreter starts in the process of a command, and what it prints."""
        counted = tmp_path / "starts"
        counted.write_text("")
        done = python("-m", "zeroloss", *command, env={**free, "STARTS": str(counted), **environment})
        assert done.returncode == 0, done.stderr
        (process,) = set(counted.read_text().split())  # execv keeps it
        return counted.read_text().split().count(process), done.stdout

    ask = "import zeroloss; print(zeroloss.blas_info().better_kernel)"
    better = python("-c", ask, env={**free, "STARTS": os.devnull}).stdout.strip()
    count, printed = starts("info")
    assert count == 1 + bool(better) and "warning" not in printed
    count, printed = starts("info", OPENBLAS_CORETYPE="Haswell")
    assert count == 1
    if "OpenBLAS" in zeroloss.blas_info().library:
        assert "Haswell" in printed
    sweep = ("sweep", "sphere:n=6,d=2,y=normal", "--width", "2", "--max-steps", "2", "--trials", "1")
    assert starts(*sweep)[0] == 2  # OpenBLAS's threads are of no use to a sweep
    assert starts(*sweep, OPENBLAS_CORETYPE="Haswell", OPENBLAS_NUM_THREADS="1")[0] == 1
