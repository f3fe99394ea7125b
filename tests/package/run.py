# SPDX-License-Identifier: Apache-2.0
"""Gets hold of the library in one of the ways that users do, and builds and runs tests/package/consumer with it.

    python3 run.py install|program|deb|subdir|fetch|pkgconfig|conan|vcpkg SOURCE BUILD WORK COMPILER CMAKE

SOURCE and BUILD are the folders of the project, WORK is emptied and used. Ends with 77 after saying which tool is missing.
"""
import os
import shutil
import subprocess
import sys


def run(*command, **options):
    print("+", " ".join(command), flush=True)
    subprocess.run(command, check=True, **options)


def need(tool):
    if shutil.which(tool) is None:
        print(f"SKIPPED: {tool} is not installed")
        sys.exit(77)


class Package:
    def __init__(self, source, build, work, compiler, cmake):
        self.source, self.build, self.work, self.compiler, self.cmake = source, build, work, compiler, cmake
        self.prefix = os.path.join(work, "prefix")
        self.tests = os.path.join(source, "tests", "package")

    def configure_and_run(self, folder, *options):
        build = os.path.join(self.work, "build")
        run(self.cmake, "-S", folder, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={self.compiler}", *options)
        run(self.cmake, "--build", build)
        run(os.path.join(build, "consumer"))

    def install_to_prefix(self):
        # Moved after the installation: nothing in the package may know where it was put first.
        first = os.path.join(self.work, "first")
        run(self.cmake, "--install", self.build, "--prefix", first)
        os.rename(first, self.prefix)

    def install(self):
        self.install_to_prefix()
        self.configure_and_run(os.path.join(self.tests, "consumer"), f"-DCMAKE_PREFIX_PATH={self.prefix}")

    def program(self):
        """What the component of that name installs, without the library."""
        run(self.cmake, "--install", self.build, "--prefix", self.prefix, "--component", "program")
        found = sorted(os.path.relpath(os.path.join(folder, name), self.prefix) for folder, _, names in os.walk(self.prefix) for name in names)
        wanted = ["bin/backsight", "share/bash-completion/completions/backsight", "share/fish/vendor_completions.d/backsight.fish",
                  "share/man/man1/backsight.1", "share/zsh/site-functions/_backsight"]
        if found != wanted:
            sys.exit(f"installed: {found}\nwanted: {wanted}")
        run(os.path.join(self.prefix, "bin", "backsight"), "--version")

    def deb(self):
        """Debian's packages, taken apart as dpkg would install them."""
        need("dpkg-deb")
        need("dpkg-shlibdeps")
        packages = os.path.join(self.work, "packages")
        run(os.path.join(os.path.dirname(self.cmake), "cpack"), "-G", "DEB", "-B", packages, "--config", os.path.join(self.build, "CPackConfig.cmake"))
        names = sorted(name for name in os.listdir(packages) if name.endswith(".deb"))
        machine = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout.strip()
        if names != [f"backsight_{self.version()}_{machine}.deb", f"libbacksight-dev_{self.version()}_all.deb"]:
            sys.exit(f"packages: {names}")
        root = os.path.join(self.work, "root")
        for name in names:
            run("dpkg-deb", "--info", os.path.join(packages, name))
            run("dpkg-deb", "--extract", os.path.join(packages, name), root)
        depends = subprocess.run(["dpkg-deb", "--field", os.path.join(packages, names[0]), "Depends"], check=True, capture_output=True, text=True).stdout
        if "libc6" not in depends or "zlib1g" not in depends:
            sys.exit(f"depends on {depends}")
        for path in ("bin/backsight", "share/man/man1/backsight.1", "share/bash-completion/completions/backsight",
                     "share/zsh/site-functions/_backsight", "share/fish/vendor_completions.d/backsight.fish",
                     "share/doc/backsight/copyright", "share/doc/libbacksight-dev/copyright"):
            if not os.path.exists(os.path.join(root, "usr", path)):
                sys.exit(f"no package has {path}")
        run(os.path.join(root, "usr", "bin", "backsight"), "--version")
        self.configure_and_run(os.path.join(self.tests, "consumer"), f"-DCMAKE_PREFIX_PATH={root}/usr")

    def fetch(self):
        self.configure_and_run(os.path.join(self.tests, "fetch"), f"-DBACKSIGHT_SOURCE={self.source}")

    def subdir(self):
        self.configure_and_run(os.path.join(self.tests, "subdir"), f"-DBACKSIGHT_SOURCE={self.source}")

    def pkgconfig(self):
        need("pkg-config")
        self.install_to_prefix()
        environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(self.prefix, "share", "pkgconfig"))
        flags = subprocess.run(["pkg-config", "--cflags", "backsight"], check=True, capture_output=True, text=True, env=environment).stdout
        run("pkg-config", "--exact-version=" + self.version(), "backsight", env=environment)
        program = os.path.join(self.work, "consumer")
        run(self.compiler, "-std=c++20", *flags.split(), os.path.join(self.tests, "consumer", "main.cpp"), "-o", program)
        run(program)

    def conan(self):
        need("conan")
        # A home of its own: the user's settings, cache and remotes stay out of it.
        environment = dict(os.environ, CONAN_HOME=os.path.join(self.work, "home"), CXX=self.compiler)
        run("conan", "profile", "detect", env=environment)
        # Boost and Catch2 come from the system, so that no remote is asked.
        profile = os.path.join(self.source, "tests", "package", "conan.profile")
        run("conan", "create", self.source, "--no-remote", "--build=missing", f"--profile={profile}", env=environment, cwd=self.work)

    def vcpkg(self):
        # What vcpkg would do with the port, without vcpkg itself.
        run(self.cmake, f"-DPORT={os.path.join(self.source, 'packaging', 'vcpkg', 'ports', 'backsight')}", f"-DWORK={self.work}",
            f"-DCMAKE_CXX_COMPILER={self.compiler}", "-P", os.path.join(self.tests, "vcpkg", "replay.cmake"))
        self.configure_and_run(os.path.join(self.tests, "consumer"), f"-DCMAKE_PREFIX_PATH={os.path.join(self.work, 'packages')}")

    def version(self):
        for line in open(os.path.join(self.source, "CMakeLists.txt"), encoding="utf-8"):
            if line.startswith("project(backsight VERSION "):
                return line.split()[2]
        sys.exit("CMakeLists.txt states no version")


def main():
    kind, source, build, work, compiler, cmake = sys.argv[1:]
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    getattr(Package(source, build, work, compiler, cmake), kind)()


if __name__ == "__main__":
    main()
