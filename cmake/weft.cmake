# weft_library(NAME [HOT] [COUNTED] [MAY_INCLUDE folder...] [TESTS_MAY_INCLUDE folder...] [LINK target...])
#   One static library weft_NAME from src/NAME/**/*.cpp; src/NAME/**/*_test.cpp go into weft_NAME_test,
#   which also sees TESTS_MAY_INCLUDE: folders a test builds its inputs with.
#
# Includes are written "folder/file.hpp". To make that path exist only for the folders that may be
# included, each folder gets a private root, build/include/FOLDER/FOLDER -> src/FOLDER, and a target
# is given the roots of its own list. Include paths are PRIVATE, so nothing arrives by transitivity.

# Only HOT libraries are worth full optimisation; for the rest, and for tests, less halves the time to build.
function(weft_cold target)
  if(CMAKE_BUILD_TYPE STREQUAL Release)
    target_compile_options(${target} PRIVATE -O1)
  elseif(WEFT_SANITIZE)
    # clang without optimisation takes two thirds of the time that g++ takes with any.
    target_compile_options(${target} PRIVATE $<IF:$<CXX_COMPILER_ID:Clang>,-O0,-Og>)
  endif()
endfunction()

function(weft_flags target)
  if(WEFT_MERGE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Below 1 GB the compiler does not look for memory to use again: a tenth less to compile.
    target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=1000000)
  endif()
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
                                           -ffp-contract=off)
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    # Which is a part of -Wconversion there, and not of g++'s.
    target_compile_options(${target} PRIVATE -Wno-sign-conversion)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # g++ 12 sees overlapping copies in std::string where there are none (gcc bug 105651).
    target_compile_options(${target} PRIVATE -Wno-restrict)
    # g++ 13 takes a reference into what a view shows for one into the view (gcc bug 107532).
    if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
      target_compile_options(${target} PRIVATE -Wno-dangling-reference)
    endif()
  endif()
  if(WEFT_SANITIZE)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      # Instrumented code confuses the analysis behind this warning (GCC's manual says so).
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    endif()
    target_compile_options(${target} PRIVATE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${WEFT_SANITIZE})
  endif()
endfunction()

function(weft_include_roots target)
  foreach(folder IN LISTS ARGN)
    set(root ${CMAKE_BINARY_DIR}/include/${folder})
    file(MAKE_DIRECTORY ${root})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${folder} ${root}/${folder} SYMBOLIC)
    target_include_directories(${target} PRIVATE ${root})
  endforeach()
  target_include_directories(${target} SYSTEM PRIVATE ${WEFT_EXPECTED_INCLUDE})
endfunction()

function(weft_link target)
  foreach(folder IN LISTS ARGN)
    target_link_libraries(${target} PUBLIC weft_${folder})
  endforeach()
endfunction()

function(weft_library name)
  cmake_parse_arguments(arg "HOT;COUNTED" "" "MAY_INCLUDE;TESTS_MAY_INCLUDE;LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/${name}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  add_library(weft_${name} STATIC ${sources})
  weft_flags(weft_${name})
  if(NOT arg_HOT)
    weft_cold(weft_${name})
  endif()
  # COUNTED: a test counts the instructions that a packet takes here. Merged, other things would be inlined, and counted.
  if(WEFT_MERGE AND (WEFT_SANITIZE OR NOT arg_COUNTED))
    weft_merge(weft_${name} ${CMAKE_SOURCE_DIR}/src/${name} ${sources})
  endif()
  weft_include_roots(weft_${name} ${name} ${arg_MAY_INCLUDE})
  weft_link(weft_${name} ${arg_MAY_INCLUDE})
  target_link_libraries(weft_${name} PUBLIC fmt::fmt PRIVATE ${arg_LINK})
  if(WEFT_TESTS AND tests)
    set_property(GLOBAL APPEND PROPERTY weft_tested ${name})
    set_property(GLOBAL PROPERTY weft_tests_${name} "${tests}")
    set_property(GLOBAL PROPERTY weft_sees_${name} "${name};${arg_MAY_INCLUDE};${arg_TESTS_MAY_INCLUDE}")
    set_property(GLOBAL PROPERTY weft_links_${name} "${arg_LINK}")
  endif()
endfunction()

function(weft_executable name)
  cmake_parse_arguments(arg "" "" "SOURCES;MAY_INCLUDE;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  weft_flags(${name})
  weft_include_roots(${name} ${arg_MAY_INCLUDE})
  weft_link(${name} ${arg_MAY_INCLUDE})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
endfunction()

# weft_module(NAME FOLDER [LINK target...]): a library that programs load which know nothing of weft, from src/FOLDER and what is
# below it. That is compiled again: code of a shared library is addressed differently, and the simulator's should not pay for that.
# Under sanitizers nobody measures, and all code can be shared.
function(weft_module name folder)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  add_library(${name} MODULE ${sources})
  weft_loadable_flags(${name})
  weft_include_roots(${name} ${folder} endpoint net transport base)
  if(WEFT_SANITIZE)  # whose symbols are the program's
    if(WEFT_MERGE)
      weft_merge(${name} ${CMAKE_SOURCE_DIR}/src/${folder} ${sources})
    endif()
    weft_link(${name} endpoint net transport base)
  else()
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:weft_loadable>)
    target_link_options(${name} PRIVATE -Wl,-z,defs -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/${folder}/exports.map)
    set_target_properties(${name} PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/exports.map)
    target_link_libraries(${name} PRIVATE fmt::fmt-header-only)
  endif()
  target_link_libraries(${name} PRIVATE ${arg_LINK} Threads::Threads)
endfunction()

function(weft_loadable_flags target)
  weft_flags(${target})
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        POSITION_INDEPENDENT_CODE ON)
endfunction()

function(weft_loadable)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/endpoint/*.cpp src/net/*.cpp src/transport/srd/*.cpp
       src/transport/rdm/*.cpp src/base/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|/drawing\\.cpp$|/exercise\\.cpp$|/frames\\.cpp$|/tcp_over_srd\\.cpp$")
  add_library(weft_loadable OBJECT ${sources})
  weft_loadable_flags(weft_loadable)
  if(WEFT_MERGE)
    foreach(folder endpoint net base)  # of transport, merged, g++ 12 at -O3 sees copies of more bytes than there are
      set(own ${sources})
      list(FILTER own INCLUDE REGEX "/src/${folder}/")
      weft_merge(weft_loadable ${CMAKE_SOURCE_DIR}/src/${folder} ${own})
    endforeach()
  endif()
  weft_include_roots(weft_loadable endpoint net transport base)
  target_link_libraries(weft_loadable PRIVATE fmt::fmt-header-only)
endfunction()
