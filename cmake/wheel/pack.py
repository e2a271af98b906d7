"""Packs what was built for the running Python into a wheel, and lets auditwheel add libraries and the tag of the platform."""

import argparse
import pathlib
import shutil
import subprocess
import sys
import sysconfig

from scikit_build_core.build import prepare_metadata_for_build_wheel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--stage", type=pathlib.Path, required=True)
    parser.add_argument("--to", type=pathlib.Path, required=True)
    parser.add_argument("--stable-abi", action="store_true")
    options = parser.parse_args()
    stage = options.stage
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir(parents=True)

    settings = {"wheel.py-api": f"cp3{sys.version_info.minor}"} if options.stable_abi else {}
    metadata = stage / prepare_metadata_for_build_wheel(str(stage), settings)
    subprocess.run(["cmake", "--install", options.build, "--component", "python", "--prefix", stage], check=True)
    shutil.copytree(stage / "metadata" / "licenses", metadata / "licenses", dirs_exist_ok=True)
    shutil.rmtree(stage / "metadata")
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree("python/tapeformer", stage / "tapeformer", dirs_exist_ok=True, ignore=ignore)

    python = f"cp3{sys.version_info.minor}"
    tag = f"{python}-{'abi3' if options.stable_abi else python}-{sysconfig.get_platform().replace('-', '_')}"
    lines = ["Wheel-Version: 1.0", "Generator: scripts/wheel.sh", "Root-Is-Purelib: false", f"Tag: {tag}"]
    (metadata / "WHEEL").write_text("\n".join(lines) + "\n")
    plain = stage.parent / "plain"
    shutil.rmtree(plain, ignore_errors=True)
    plain.mkdir()
    subprocess.run([sys.executable, "-m", "wheel", "pack", stage, "--dest-dir", plain], check=True)
    for wheel in plain.iterdir():
        subprocess.run([sys.executable, "-m", "auditwheel", "show", wheel], check=True)
        subprocess.run([sys.executable, "-m", "auditwheel", "repair", "--strip", "-w", options.to, wheel], check=True)


main()
