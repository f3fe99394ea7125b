# An overlay port that installs the working tree it lies in: vcpkg install backsight --overlay-ports=packaging/vcpkg/ports
set(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../..")

# The headers alone: without the examples there is no program, which `cmake --install BUILD --component program` installs.
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DBACKSIGHT_BUILD_TESTS=OFF
        -DBACKSIGHT_BUILD_EXAMPLES=OFF
        -DBACKSIGHT_INSTALL=ON
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME backsight CONFIG_PATH share/cmake/backsight)
vcpkg_fixup_pkgconfig()

# Only headers: the debug tree holds nothing of its own.
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/backsight")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
