# SPDX-License-Identifier: Apache-2.0
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Two components: `development` is the library, `program` what examples/cli installs where it is built.
install(TARGETS backsight EXPORT backsight-targets FILE_SET HEADERS COMPONENT development)
set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/backsight)
install(EXPORT backsight-targets NAMESPACE backsight:: DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(cmake/backsight-config.cmake.in backsight-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(backsight-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/backsight-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/backsight-config-version.cmake
        DESTINATION ${package_dir} COMPONENT development)

configure_file(cmake/backsight.pc.in backsight.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/backsight.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig COMPONENT development)
