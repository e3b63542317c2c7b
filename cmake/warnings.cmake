# Compiler and linker flags of every Stowage target. Targets take them by linking stowage_flags.

add_library(stowage_flags INTERFACE)

target_compile_options(stowage_flags INTERFACE
  -Wall
  -Wextra
  -Wpedantic
  -Wshadow
  -Wconversion
  -Wsign-conversion
  -Wnon-virtual-dtor
  # Designated initialisers leave the other members at their defaults on purpose.
  -Wno-missing-field-initializers
  # g++ 12 reports uninitialised maps in temporaries of aggregates that are initialised; clang and
  # the sanitizers find real ones.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  # g++ 12 reports overlapping copies of absurd size where short strings are concatenated.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  -Werror
  # Scores are sums of doubles in a fixed order: a fused multiply-add would change their last bit.
  -ffp-contract=off
  -fstack-protector-strong
  -fstack-clash-protection
  # Checks indices and iterators of containers: the program ends instead of reading out of bounds.
  -D_GLIBCXX_ASSERTIONS
  # Every server processor since 2009; without it counting bits is a function call.
  $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-march=x86-64-v2>
)

# _FORTIFY_SOURCE needs an optimised build and disagrees with the sanitizers.
if(NOT STOWAGE_SANITIZE)
  target_compile_options(stowage_flags INTERFACE
    $<$<CONFIG:Release>:-U_FORTIFY_SOURCE>
    $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=3>
  )
endif()

# Programs are position independent too: see CMAKE_POSITION_INDEPENDENT_CODE in CMakeLists.txt.
target_link_options(stowage_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
