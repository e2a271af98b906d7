if(NOT "inspect" IN_LIST components)
  return()
endif()
# The HTML pages are built from inspect/web/ with Node (scripts/web.sh) and committed in inspect/web/dist/. This embeds them in
# the library, so that building or using it does not need Node.
file(GLOB page_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/inspect/web/dist/*.html)
# Pages that run a model contain the engine for WebAssembly if scripts/wasm.sh has built it.
file(GLOB live_engine CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/build/wasm/live_engine.wasm.gz)
set(page_source ${PROJECT_BINARY_DIR}/web_assets.cpp)
add_custom_command(OUTPUT ${page_source}
  COMMAND ${CMAKE_COMMAND} "-DPAGES=${page_files}" "-DENGINE=${live_engine}" -DOUT=${page_source} -P ${PROJECT_SOURCE_DIR}/cmake/EmbedPages.cmake
  DEPENDS ${page_files} ${live_engine} ${PROJECT_SOURCE_DIR}/cmake/EmbedPages.cmake
  COMMENT "Embedding HTML pages in web_assets.cpp" VERBATIM)
