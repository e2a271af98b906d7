"""Conan 2 recipe of this checkout: conan create packaging/conan --build=missing

Libraries that Tapeformer needs come from the system, because Conan Center has no sentencepiece. Conan installs them with
-c tools.system.package_manager:mode=install, and otherwise lists those that are missing.
"""

import glob
import os
import re
import shutil

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt


class Tapeformer(ConanFile):
    name = "tapeformer"
    description = "Automatic differentiation and Transformers in C++20"
    license = "MIT"
    topics = ("autograd", "transformer", "machine-learning")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "tools": [True, False], "cuda": [True, False]}
    default_options = {"shared": True, "tools": True, "cuda": False}
    languages = "C++"

    exported_folders = ("base", "autograd", "nn", "optim", "models", "text", "train", "inspect", "tools", "cmake", "scripts")
    exported_files = ("CMakeLists.txt", "LICENSE", "CHANGELOG.md", "*.h")
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self.root, "CMakeLists.txt"))
        self.version = re.search(r"project\(tapeformer VERSION ([0-9.]+)", text).group(1)

    def export_sources(self):
        for folder in self.exported_folders:
            copy(self, "*", os.path.join(self.root, folder), os.path.join(self.export_sources_folder, folder),
                 excludes=["*node_modules*", "*__pycache__*"])
        for pattern in self.exported_files:
            for file in glob.glob(os.path.join(self.root, pattern)):
                shutil.copy2(file, self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration("tapeformer: runs on Linux on x86_64 and armv8 only")
        check_min_cppstd(self, 20)

    def system_requirements(self):
        packages = [
            "libxtensor-dev", "libxtensor-blas-dev", "libopenblas-openmp-dev", "libfmt-dev", "nlohmann-json3-dev",
            "libutf8proc-dev", "libonig-dev", "libsentencepiece-dev", "libxxhash-dev", "zlib1g-dev",
        ]
        Apt(self).install(packages + (["libcli11-dev"] if self.options.tools else []), check=True)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "TAPEFORMER_TESTS": False, "TAPEFORMER_EXAMPLES": False, "TAPEFORMER_TOOLS": bool(self.options.tools),
            "TAPEFORMER_CUDA": "ON" if self.options.cuda else "OFF",
        })
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # The CMake package that the library installs itself, and not one that Conan writes.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "Tapeformer")]
        components = ("inspect", "train", "models", "text", "linalg", "core")
        self.cpp_info.libs = [f"tapeformer_{component}" for component in components]
