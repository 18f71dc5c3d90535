# weft_embed_catalog(LIB): compiles catalog/*.yaml into weft_LIB as (name, text) pairs, so that the
# binary needs no files beside it. The generated file is rebuilt when a catalog file changes.
function(weft_embed_catalog library)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/catalog/*.yaml)
  set(output ${CMAKE_BINARY_DIR}/generated/embedded_catalog.cpp)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} "-DFILES=${files}"
            -P ${CMAKE_SOURCE_DIR}/cmake/write_embedded.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/write_embedded.cmake
    VERBATIM)
  target_sources(weft_${library} PRIVATE ${output})
endfunction()
