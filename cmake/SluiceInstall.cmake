# SPDX-License-Identifier: Apache-2.0
# Installed beside the targets, which their own folders install: documents, the CMake package and the pkg-config
# file, by which a job's launch scripts and a test suite find the plugin's path. All of it can be moved.
include(CMakePackageConfigHelpers)

set(SLUICE_PLUGIN_FILE ${CMAKE_SHARED_MODULE_PREFIX}nccl-net-sluice${CMAKE_SHARED_MODULE_SUFFIX})
set(SLUICE_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)

configure_package_config_file(cmake/sluice-config.cmake.in ${CMAKE_BINARY_DIR}/sluice-config.cmake
  INSTALL_DESTINATION ${SLUICE_CMAKE_DIR} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/sluice-config-version.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/sluice-config.cmake ${CMAKE_BINARY_DIR}/sluice-config-version.cmake
        DESTINATION ${SLUICE_CMAKE_DIR})

set(SLUICE_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH SLUICE_PREFIX_FROM_PKGCONFIG
     /prefix/${SLUICE_PKGCONFIG_DIR} /prefix)
configure_file(cmake/sluice.pc.in ${CMAKE_BINARY_DIR}/sluice.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/sluice.pc DESTINATION ${SLUICE_PKGCONFIG_DIR})

install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
