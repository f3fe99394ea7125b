# SPDX-License-Identifier: Apache-2.0
# cmake -DPORT=folder -DWORK=folder -DCMAKE_CXX_COMPILER=... -P replay.cmake
# Runs portfile.cmake with stand-ins for the functions of vcpkg that it calls; each does what vcpkg's own does to the files.
set(CURRENT_PORT_DIR ${PORT})
set(CURRENT_PACKAGES_DIR ${WORK}/packages)
set(VCPKG_POLICY_EMPTY_INCLUDE_FOLDER disabled)

function(replay_run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed: ${ARGN}")
  endif()
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  replay_run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${WORK}/port -G Ninja -DCMAKE_BUILD_TYPE=Release
             -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  replay_run(${CMAKE_COMMAND} --build ${WORK}/port --target install)
  replay_run(${CMAKE_COMMAND} --install ${WORK}/port --prefix ${CURRENT_PACKAGES_DIR}/debug)
endfunction()

# Moves the package to share/<port> and corrects how deep its files lie below the prefix.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
  file(RENAME ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH} ${CURRENT_PACKAGES_DIR}/share/backsight)
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/debug/${arg_CONFIG_PATH} ${CURRENT_PACKAGES_DIR}/share/cmake)
  file(GLOB files ${CURRENT_PACKAGES_DIR}/share/backsight/*.cmake)
  set(step "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
  foreach(file IN LISTS files)
    file(READ ${file} text)
    string(REPLACE "${step}${step}${step}" "${step}${step}" text "${text}")
    string(REPLACE "/../../../" "/../../" text "${text}")
    file(WRITE ${file} "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/share/pkgconfig/backsight.pc)
    message(FATAL_ERROR "no file for pkg-config is installed")
  endif()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(COPY_FILE ${arg_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/backsight/copyright)
endfunction()

include(${PORT}/portfile.cmake)

# What vcpkg's own checks after an installation ask for.
foreach(path include/backsight/backsight.hpp share/backsight/backsight-config.cmake share/backsight/copyright share/backsight/usage)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${path})
    message(FATAL_ERROR "the port installs no ${path}")
  endif()
endforeach()
foreach(path debug share/cmake)
  if(EXISTS ${CURRENT_PACKAGES_DIR}/${path})
    message(FATAL_ERROR "the port leaves ${path} behind")
  endif()
endforeach()
