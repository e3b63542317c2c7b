# STOWAGE_SANITIZE is a comma separated list for -fsanitize=, for example "address,undefined".

set(STOWAGE_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, empty for none")

if(STOWAGE_SANITIZE)
  add_compile_options(
    -fsanitize=${STOWAGE_SANITIZE}
    -fno-sanitize-recover=all
    -fno-omit-frame-pointer
  )
  add_link_options(-fsanitize=${STOWAGE_SANITIZE})
endif()
