# The pages that people look at are built from inspect/web/ with Node (scripts/web.sh) and kept in inspect/web/dist/; here
# they become bytes of the library, so that nobody needs Node to build or to use it.
file(GLOB page_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/inspect/web/dist/*.html)
set(page_source ${PROJECT_BINARY_DIR}/web_assets.cpp)
add_custom_command(OUTPUT ${page_source}
  COMMAND ${CMAKE_COMMAND} "-DPAGES=${page_files}" -DOUT=${page_source} -P ${PROJECT_SOURCE_DIR}/cmake/EmbedPages.cmake
  DEPENDS ${page_files} ${PROJECT_SOURCE_DIR}/cmake/EmbedPages.cmake
  COMMENT "Pages become web_assets.cpp" VERBATIM)
