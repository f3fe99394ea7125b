# SPDX-License-Identifier: Apache-2.0
# Packages for Debian and its like, by `cpack` in the build folder: `backsight` with the program, where that is built, and
# `libbacksight-dev` with the headers.
include(GNUInstallDirs)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "${PROJECT_NAME} maintainers <maintainers@localhost>" CACHE STRING "Who is named as the maintainer of packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)

# The licence is where Debian looks for it, in packages alone.
function(backsight_add_package group component name)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} RENAME copyright COMPONENT ${component}-licence EXCLUDE_FROM_ALL)
  list(APPEND CPACK_COMPONENTS_ALL ${component} ${component}-licence)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} PARENT_SCOPE)
  string(TOUPPER ${component} upper)
  set(CPACK_COMPONENT_${upper}_GROUP ${group} PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}-LICENCE_GROUP ${group} PARENT_SCOPE)
  string(TOUPPER ${group} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
endfunction()

backsight_add_package(headers development libbacksight-dev)
set(CPACK_DEBIAN_HEADERS_DESCRIPTION "The headers, for CMake and pkg-config.")
set(CPACK_DEBIAN_HEADERS_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_HEADERS_PACKAGE_DEPENDS "libboost-dev (>= 1.74)")
set(CPACK_DEBIAN_HEADERS_PACKAGE_SECTION libdevel)

if(TARGET backsight-pages)
  backsight_add_package(tool program backsight)
  set(CPACK_DEBIAN_TOOL_DESCRIPTION "The program, its manual page and completions for bash, zsh and fish.")
  set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS ON)
  # What is loaded only when it is needed: the packages that have the libraries found here.
  set(recommended "")
  foreach(library IN ITEMS ${pkgcfg_lib_LIBZIP_zip} ${pkgcfg_lib_CAPSTONE_capstone})
    file(REAL_PATH "${library}" library)
    execute_process(COMMAND dpkg-query --search ${library} OUTPUT_VARIABLE owner RESULT_VARIABLE result ERROR_QUIET)
    if(result EQUAL 0 AND owner MATCHES "^([^:,]+)")
      list(APPEND recommended ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(JOIN recommended ", " CPACK_DEBIAN_TOOL_PACKAGE_RECOMMENDS)
endif()

include(CPack)
