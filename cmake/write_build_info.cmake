# Writes OUTPUT, the definition of weft::app::build_info(), from VERSION, COMPILER and the commit of SOURCE_DIR. What
# stands there already is left alone when it is the same.
set(commit "unknown")
set(ENV{GIT_OPTIONAL_LOCKS} 0)  # somebody may be committing
find_program(git git)
if(git)
  # A tree that was unpacked inside another project's checkout is not of that project's commit.
  execute_process(COMMAND ${git} rev-parse --show-prefix WORKING_DIRECTORY ${SOURCE_DIR}
                  RESULT_VARIABLE failed OUTPUT_VARIABLE below OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed AND below STREQUAL "")
    execute_process(COMMAND ${git} describe --always --dirty --abbrev=9 WORKING_DIRECTORY ${SOURCE_DIR}
                    RESULT_VARIABLE failed OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT failed AND NOT described STREQUAL "")
      set(commit ${described})
    endif()
  endif()
endif()

file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "app/build_info.hpp"

const weft::app::BuildInfo& weft::app::build_info() {
  static const BuildInfo info{"@VERSION@", "@commit@", "@COMPILER@"};
  return info;
}
]])
