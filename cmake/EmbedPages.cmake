# Writes a source file with the bytes of HTML pages: cmake -DPAGES="a.html;b.html" -DOUT=web_assets.cpp -P EmbedPages.cmake
set(arrays)
set(cases)
foreach(page IN LISTS PAGES)
  get_filename_component(name ${page} NAME)
  string(MAKE_C_IDENTIFIER ${name} identifier)
  file(READ ${page} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "const unsigned char ${identifier}[] = {\n${bytes}};\n\n")
  string(APPEND cases "  if (name == \"${name}\") return {reinterpret_cast<const char*>(${identifier}), sizeof(${identifier})};\n")
endforeach()
file(WRITE ${OUT} "// Made by cmake/EmbedPages.cmake.
#include \"inspect/web_page.h\"

#include \"base/error.h\"

namespace tape::inspect {
namespace {

${arrays}}  // namespace

std::string_view web_asset(std::string_view name) {
${cases}  raise(ErrorKind::config, \"{}: no page of that name\", name);
}

}  // namespace tape::inspect
")
