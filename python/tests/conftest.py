import importlib.util

import pytest

import tapeformer as tape


@pytest.fixture(autouse=True)
def same_random_numbers():
    tape.manual_seed(0)


def pytest_report_header(config):
    torch = "with" if importlib.util.find_spec("torch") else "without"
    return f"tapeformer {tape.__version__}, {torch} PyTorch as reference"
