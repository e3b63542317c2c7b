# stowage_module: one call describes one folder under src/.
#
#   stowage_module(
#     NAME core
#     SRCS
#       model/node.cc
#       ledger/ledger.cc
#     DEPS base
#     TESTS
#       model/node_test.cc
#       ledger/ledger_test.cc
#     TEST_DEPS sim
#   )
#
# NAME       the folder's name. The library is stowage_<NAME>, with the alias stowage::<NAME>.
# SRCS       every source file, by name. Without SRCS the library holds headers only.
# DEPS       what the library uses: a module's name ("base") or a CMake target ("fmt::fmt").
# TESTS      every test file, by name. They become one executable <NAME>_test and one ctest of that
#            name, linked with GoogleTest (and its main) and RapidCheck.
# TEST_DEPS  what only the tests use, written as in DEPS.
#
# Includes are written from src/: #include "core/model/node.h".

# stowage_resolve(out name...): module names become their library targets; targets stay as they are.
function(stowage_resolve out)
  set(result)
  foreach(name IN LISTS ARGN)
    if(name MATCHES "::")
      list(APPEND result ${name})
    else()
      list(APPEND result stowage::${name})
    endif()
  endforeach()
  set(${out} ${result} PARENT_SCOPE)
endfunction()

# stowage_batches(out target sources...): the files to compile for these sources. With
# STOWAGE_BATCH=N, each file includes up to N of them, so that headers, which take most of the time,
# are compiled once for all of them. docs/adr/0016.
set(STOWAGE_BATCH 1 CACHE STRING "How many sources of a target are compiled together")
get_filename_component(STOWAGE_BATCHES_TOOL ${CMAKE_CURRENT_LIST_DIR}/../tools/batches.py ABSOLUTE)
function(stowage_batches out target)
  if(STOWAGE_BATCH LESS 2)
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]" OUTPUT_VARIABLE sources)
  execute_process(
    COMMAND ${STOWAGE_PYTHON} ${STOWAGE_BATCHES_TOOL} --size ${STOWAGE_BATCH}
      --root ${PROJECT_SOURCE_DIR} --out ${CMAKE_CURRENT_BINARY_DIR}/${target}_batches ${sources}
    OUTPUT_VARIABLE batches
    COMMAND_ERROR_IS_FATAL ANY)
  # g++ treats the sources that a batch includes as headers, and warns of types with parts in an
  # unnamed namespace. Elsewhere the warning stays on.
  set(written ${batches})
  list(FILTER written INCLUDE REGEX "_batches/batch_[0-9]+\\.cc$")
  set_source_files_properties(${written} PROPERTIES
    COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set(${out} ${batches} PARENT_SCOPE)

  list(JOIN sources "\t" line)
  set_property(GLOBAL APPEND_STRING PROPERTY STOWAGE_BATCH_PLAN "${target}\t${line}\n")
  stowage_alone(${target} ${sources})
endfunction()

# stowage_alone(target sources...): the sources of a target one by one, compiled with its flags. No
# build includes them. compile_commands.json names them instead of the batches, for editors,
# clang-tidy and `make lint-changed`.
function(stowage_alone target)
  add_library(${target}_alone OBJECT EXCLUDE_FROM_ALL ${ARGN})
  foreach(property IN ITEMS INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS)
    set_property(TARGET ${target}_alone PROPERTY
      ${property} $<TARGET_PROPERTY:${target},${property}>)
  endforeach()
  cmake_language(EVAL CODE
    "cmake_language(DEFER CALL set_property TARGET ${target} PROPERTY EXPORT_COMPILE_COMMANDS OFF)")
endfunction()

# stowage_check_batches(): if changed sources lead to other batches, the next build configures
# again. Called once, after all targets.
#
# build.ninja depends on batches.txt, which lists the batches. It is made from the sources, and
# rewritten only if it changes. The sources are in a depfile, not in DEPENDS: a removed source must
# not stop the build that would remove it from the list.
function(stowage_check_batches)
  if(STOWAGE_BATCH LESS 2)
    return()
  endif()
  set(plan ${PROJECT_BINARY_DIR}/batches.plan)
  set(stamp ${PROJECT_BINARY_DIR}/batches.txt)
  get_property(text GLOBAL PROPERTY STOWAGE_BATCH_PLAN)
  file(CONFIGURE OUTPUT ${plan} CONTENT "${text}" @ONLY)
  set(command ${STOWAGE_PYTHON} ${STOWAGE_BATCHES_TOOL} --size ${STOWAGE_BATCH}
    --root ${PROJECT_SOURCE_DIR} --plan ${plan} --out ${stamp})
  execute_process(COMMAND ${command} COMMAND_ERROR_IS_FATAL ANY)
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${command}
    DEPENDS ${plan} ${STOWAGE_BATCHES_TOOL}
    DEPFILE ${stamp}.d
    COMMENT "Checking which sources are compiled together"
    VERBATIM)
  add_custom_target(stowage_batches_checked DEPENDS ${stamp})
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${stamp})
endfunction()

# stowage_test(NAME <n> SRCS ... DEPS ...): one test executable and its ctest, labelled "unit".
function(stowage_test)
  cmake_parse_arguments(PARSE_ARGV 0 T "" "NAME" "SRCS;DEPS")
  if(T_UNPARSED_ARGUMENTS OR NOT T_NAME OR NOT T_SRCS)
    message(FATAL_ERROR
      "stowage_test: needs NAME and SRCS; not understood: ${T_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT BUILD_TESTING OR NOT STOWAGE_UNIT_TESTS)
    return()
  endif()
  stowage_resolve(deps ${T_DEPS})
  stowage_batches(sources ${T_NAME} ${T_SRCS})
  add_executable(${T_NAME} ${sources})
  target_include_directories(${T_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(${T_NAME}
    PRIVATE ${deps} stowage_flags GTest::gtest GTest::gtest_main rapidcheck)
  if(STOWAGE_FUZZ)
    # Only the code under test needs this instrumentation. In the tests it only costs compile time.
    target_compile_options(${T_NAME} PRIVATE -fno-sanitize=fuzzer-no-link,undefined -g0)
  endif()
  add_test(NAME ${T_NAME} COMMAND ${T_NAME} --gtest_brief=1 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  # hostile_test reads gigabytes of text with sanitizers: minutes on one core.
  set_tests_properties(${T_NAME} PROPERTIES TIMEOUT 1500 LABELS unit)
  add_dependencies(stowage_unit_tests ${T_NAME})
endfunction()

function(stowage_module)
  cmake_parse_arguments(PARSE_ARGV 0 M "" "NAME" "SRCS;DEPS;TESTS;TEST_DEPS")
  if(M_UNPARSED_ARGUMENTS OR NOT M_NAME)
    message(FATAL_ERROR "stowage_module: needs NAME; not understood: ${M_UNPARSED_ARGUMENTS}")
  endif()
  set(library stowage_${M_NAME})
  stowage_resolve(deps ${M_DEPS})

  if(M_SRCS)
    stowage_batches(sources ${library} ${M_SRCS})
    add_library(${library} STATIC ${sources})
    target_include_directories(${library}
      PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/generated
      PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${library} PUBLIC ${deps} PRIVATE stowage_flags)
  else()
    add_library(${library} INTERFACE)
    target_include_directories(${library}
      INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/generated)
    target_link_libraries(${library} INTERFACE ${deps})
  endif()
  add_library(stowage::${M_NAME} ALIAS ${library})

  if(M_TESTS)
    stowage_test(NAME ${M_NAME}_test SRCS ${M_TESTS} DEPS ${M_NAME} ${M_TEST_DEPS})
  endif()
endfunction()

# stowage_program(NAME <n> SRCS ... DEPS ...): an executable in the root of the build folder.
function(stowage_program)
  cmake_parse_arguments(PARSE_ARGV 0 P "" "NAME" "SRCS;DEPS")
  if(P_UNPARSED_ARGUMENTS OR NOT P_NAME OR NOT P_SRCS)
    message(FATAL_ERROR
      "stowage_program: needs NAME and SRCS; not understood: ${P_UNPARSED_ARGUMENTS}")
  endif()
  stowage_resolve(deps ${P_DEPS})
  # The target is <name>_program, to distinguish it from the library of a module.
  add_executable(${P_NAME}_program ${P_SRCS})
  target_include_directories(${P_NAME}_program PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${P_NAME}_program PRIVATE ${deps} stowage_flags)
  set_target_properties(${P_NAME}_program PROPERTIES
    OUTPUT_NAME ${P_NAME}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

# stowage_program_test(NAME <n> COMMAND ...): a test that runs programs. The target
# stowage_test_programs builds those that the command names, as a target or by $<TARGET_FILE:...>.
function(stowage_program_test)
  cmake_parse_arguments(PARSE_ARGV 0 T "" "NAME" "COMMAND")
  if(T_UNPARSED_ARGUMENTS OR NOT T_NAME OR NOT T_COMMAND)
    message(FATAL_ERROR
      "stowage_program_test: needs NAME and COMMAND; not understood: ${T_UNPARSED_ARGUMENTS}")
  endif()
  add_test(NAME ${T_NAME} COMMAND ${T_COMMAND})
  string(REGEX MATCHALL "TARGET_FILE:[A-Za-z0-9_]+" programs "${T_COMMAND}")
  list(TRANSFORM programs REPLACE "TARGET_FILE:" "")
  list(GET T_COMMAND 0 program)
  if(TARGET ${program})
    list(APPEND programs ${program})
  endif()
  if(programs)
    add_dependencies(stowage_test_programs ${programs})
  endif()
endfunction()
