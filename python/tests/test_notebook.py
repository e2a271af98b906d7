"""The example notebook runs, and its results are what it shows."""

import pathlib

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("pandas")

NOTEBOOK = pathlib.Path(__file__).parent.parent / "examples" / "explorer.ipynb"


def shown(cell):
    """HTML of a cell's last result."""
    return next(output["data"]["text/html"] for output in cell.outputs if output.output_type == "execute_result")


def test_the_notebook_runs(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells = {cell.source.split("\n")[0]: cell for cell in notebook.cells if cell.cell_type == "code"}
    table, right, wrong, explorer = (
        shown(next(cell for first, cell in cells.items() if first.startswith(start)))
        for start in ("log = ", "inputs = ", "class Swish", "text = ")
    )
    assert "<table" in table and "loss" in table
    assert "gradients are right" in right and '<tr class="wrong">' not in right
    assert '<tr class="wrong">' in wrong and "guilty: Swish" in wrong and "2 times the numeric value" in wrong
    assert explorer.startswith("<iframe srcdoc=") and "A small GPT" in explorer
    assert not any(cell.get("outputs") for cell in nbformat.read(NOTEBOOK, as_version=4).cells)  # none are committed
