# weft_build_info(LIB): which weft this is, compiled into weft_LIB. The commit is that of the moment of the build, not of
# configuring: every build asks git, and the one small file is written, and compiled, only when the answer is another.
function(weft_build_info library)
  set(output ${CMAKE_BINARY_DIR}/generated/build_info.cpp)
  add_custom_target(
    weft_build_info
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DSOURCE_DIR=${CMAKE_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
            "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
            -P ${CMAKE_SOURCE_DIR}/cmake/write_build_info.cmake
    BYPRODUCTS ${output}
    COMMENT "Asking git for the commit"
    VERBATIM)
  target_sources(weft_${library} PRIVATE ${output})
  add_dependencies(weft_${library} weft_build_info)
endfunction()
