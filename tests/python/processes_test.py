"""Several processes call a function together, through mpi4py."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("mpi4py")
if shutil.which("mpirun") is None:
    pytest.skip("no mpirun", allow_module_level=True)

MORE_THAN_PROCESSORS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def together(processes, text, *, tmp_path):
    """What the script prints in that many processes, and its exit code."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(text))
    # mpi4py leaves MPI's own files and sockets to the system.
    environment = {**os.environ, **MORE_THAN_PROCESSORS, "PYTHONDEVMODE": "0", "PYTHONWARNINGS": "default"}
    return subprocess.run(
        ["mpirun", "-n", str(processes), sys.executable, script], env=environment, text=True, capture_output=True,
        timeout=120, cwd=tmp_path,
    )  # fmt: skip


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_the_results_are_those_of_one_process(processes, tmp_path):
    done = together(processes, """
        import numpy as np
        import zeroloss
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
        X, y = (np.random.default_rng(0).normal(size=(90, 7)), np.arange(90) % 3) if comm.rank == 0 else (None, None)
        found = zeroloss.certify(X, y, method="factor", comm=comm)
        fitted = zeroloss.fit(X, y, width=40, max_steps=50, comm=comm)
        swept = zeroloss.sweep("sphere:n=12,y=normal", d=3, width=[2, 8], trials=5, max_steps=200, comm=comm)
        audited = zeroloss.audit(X, y, comm=comm)
        explained = zeroloss.influence(X, y, test=(X[:5], y[:5]) if comm.rank == 0 else None, comm=comm)
        if comm.rank == 0:
            # The fit of the noise ends where the rate moves by less than 1e-7.
            assert np.allclose(audited.scores, zeroloss.audit(X, y).scores, rtol=0, atol=1e-7)
            here = zeroloss.influence(X, y, test=(X[:5], y[:5]))
            off = 2 * 60 * 90 * 2.0**-53  # backward errors of two factorisations of 90 points
            K = zeroloss.kernel.gram(X, here.activation).K
            condition = 1 + np.linalg.norm(K, 2) / (here.ridge * K[0, 0])
            assert np.allclose(explained.values, here.values, rtol=0, atol=off * condition * np.sqrt(90))
            alone = zeroloss.certify(X, y, method="factor")
            assert abs(found.lambda_min - alone.lambda_min) <= off * alone.lambda_max
            assert found.lambda_min_verified < alone.lambda_min
            assert found.proof == ("residual" if comm.size > 1 else "theorem")
            here = zeroloss.fit(X, y, width=40, max_steps=50)
            for mine, theirs in zip(here.network.outputs, fitted.network.outputs):
                assert np.array_equal(mine.W, theirs.W)
            one = zeroloss.sweep("sphere:n=12,y=normal", d=3, width=[2, 8], trials=5, max_steps=200)
            assert [c.mean_steps for c in swept.cells] == [c.mean_steps for c in one.cells]
        values = comm.gather((found.lambda_min, fitted.relative_misfit, swept.trials, audited.noise_rate.value))
        if comm.rank == 0:
            assert len(values) == comm.size and len(set(values)) == 1
            print("the same everywhere")
        """, tmp_path=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "the same everywhere"


def test_an_error_of_process_0_is_one_of_all(tmp_path):
    done = together(3, """
        import zeroloss
        from mpi4py import MPI

        comm, said = MPI.COMM_WORLD, None
        try:
            zeroloss.certify("nowhere.csv", comm=comm)
        except zeroloss.DataError as error:
            said = f"refused: {error}"
        refused = comm.gather(said)
        outcomes = comm.gather(zeroloss.certify("digits", n=40, comm=comm).outcome)
        if comm.rank == 0:  # lines of several would be written through each other
            print(*refused, *outcomes, sep="\\n")
        """, tmp_path=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sum(line.startswith("refused: 'nowhere.csv': no such file") for line in lines) == 3, lines
    assert lines[3:] == ["verified"] * 3


def test_a_part_of_the_processes(tmp_path):
    done = together(3, """
        import zeroloss
        from mpi4py import MPI

        world = MPI.COMM_WORLD
        half = world.Split(world.rank % 2)
        found = zeroloss.certify("digits", n=30 + half.size, method="factor", comm=half)
        answers = world.gather((half.size, found.n, found.proof))
        if world.rank == 0:
            print(sorted(answers))
        """, tmp_path=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[(1, 31, 'theorem'), (2, 32, 'residual'), (2, 32, 'residual')]"
