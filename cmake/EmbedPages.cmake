# Writes a source file with the bytes of HTML pages, and of the engine for them if there is one:
# cmake -DPAGES="a.html;b.html" [-DENGINE=engine.wasm.gz] -DOUT=web_assets.cpp -P EmbedPages.cmake
set(arrays)
set(cases)
set(engine {})
function(append_array file identifier)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  set(arrays "${arrays}const unsigned char ${identifier}[] = {\n${bytes}};\n\n" PARENT_SCOPE)
endfunction()
foreach(page IN LISTS PAGES)
  get_filename_component(name ${page} NAME)
  string(MAKE_C_IDENTIFIER ${name} identifier)
  append_array(${page} ${identifier})
  string(APPEND cases "  if (name == \"${name}\") return {reinterpret_cast<const char*>(${identifier}), sizeof(${identifier})};\n")
endforeach()
if(ENGINE)
  append_array(${ENGINE} engine_wasm)
  set(engine "{reinterpret_cast<const char*>(engine_wasm), sizeof(engine_wasm)}")
endif()
file(WRITE ${OUT} "// Made by cmake/EmbedPages.cmake.
#include \"inspect/live/live_page.h\"
#include \"inspect/web_page.h\"

#include \"base/error.h\"

namespace tape::inspect {
namespace {

${arrays}}  // namespace

std::string_view web_asset(std::string_view name) {
${cases}  raise(ErrorKind::config, \"{}: no page of that name\", name);
}

std::string_view live_engine_wasm() { return ${engine}; }

}  // namespace tape::inspect
")
