# SPDX-License-Identifier: Apache-2.0
# Options, warnings and the functions by which every folder declares its targets.
include(GNUInstallDirs)

option(SLUICE_BUILD_TESTS "build the tests" ON)
option(SLUICE_FUZZING "build the fuzz targets with libFuzzer (clang)" OFF)
set(SLUICE_SANITIZE "" CACHE STRING "sanitizers for the whole build: address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(SLUICE_CCACHE ccache)
if(SLUICE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SLUICE_CCACHE})
endif()

find_package(Threads REQUIRED)
find_package(tl-expected REQUIRED)

add_library(sluice_options INTERFACE)
target_include_directories(sluice_options INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
target_compile_options(sluice_options INTERFACE -Wall -Wextra -Wpedantic -Werror -Wshadow
                       -Wno-missing-field-initializers)
target_link_libraries(sluice_options INTERFACE Threads::Threads)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Unique symbols would pin the plugin in memory after dlclose().
  target_compile_options(sluice_options INTERFACE -fno-gnu-unique)
endif()
if(SLUICE_SANITIZE)
  add_compile_options(-fsanitize=${SLUICE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SLUICE_SANITIZE})
endif()

if(SLUICE_FUZZING)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# sluice_without_sanitizers(FILES...): sources that would take minutes to compile instrumented (SIMD kernels,
# whose bounds tests prove with guard pages; command lines).
function(sluice_without_sanitizers)
  if(SLUICE_SANITIZE)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "-fno-sanitize=all")
  endif()
endfunction()

# sluice_library(NAME SOURCES... [DEPENDS targets...]): an internal static library.
function(sluice_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC sluice_options ${arg_DEPENDS})
endfunction()

# sluice_program(NAME SOURCES... [DEPENDS targets...]): an installed program.
function(sluice_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE sluice_options ${arg_DEPENDS})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# sluice_test(NAME SOURCES... [DEPENDS targets...] [LABEL label] [TIMEOUT seconds] [SINGLE_THREAD]): a GoogleTest
# program, each case a CTest test of its own. SINGLE_THREAD: there is nothing for ThreadSanitizer to see.
function(sluice_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SINGLE_THREAD" "LABEL;TIMEOUT" "SOURCES;DEPENDS")
  if(arg_SINGLE_THREAD AND SLUICE_SANITIZE STREQUAL "thread")
    return()
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE sluice_options ${arg_DEPENDS} GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(NOT SLUICE_SANITIZE)
    target_compile_options(${name} PRIVATE -O1)  # tests run briefly and compile slowly
  endif()
  gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()
