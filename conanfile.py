# SPDX-License-Identifier: Apache-2.0
from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir


class BacksightConan(ConanFile):
    name = "backsight"
    version = "0.1.0"
    description = "Reads the traces that profilers leave behind and unwinds stacks"
    license = "Apache-2.0"
    # The headers alone: the program is built and installed from the source tree, by `cmake --install BUILD --component program`.
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "include/*"
    no_copy_source = True

    def requirements(self):
        self.requires("boost/[>=1.74 <2]")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def package_id(self):
        self.info.clear()

    def generate(self):
        toolchain = CMakeToolchain(self)
        for option in ("TESTS", "EXAMPLES", "BENCH", "FUZZ"):
            toolchain.cache_variables[f"BACKSIGHT_BUILD_{option}"] = False
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, f"{self.package_folder}/licenses")
        rmdir(self, f"{self.package_folder}/share")

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "backsight")
        self.cpp_info.set_property("cmake_target_name", "backsight::backsight")
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
