# The libraries of the engine, from sources that scripts/wasm.sh downloads, and headers of the system that are only headers.
include(${CMAKE_CURRENT_LIST_DIR}/../BundledLibraries.cmake)
set(deps ${TAPEFORMER_WASM_DEPS})
set(headers ${CMAKE_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${headers})
foreach(header fmt nlohmann xxhash.h)
  find_path(${header}_at ${header} PATHS /usr/include REQUIRED NO_DEFAULT_PATH)
  file(CREATE_LINK ${${header}_at}/${header} ${headers}/${header} SYMBOLIC)
endforeach()

set(utf8proc ${deps}/utf8proc)
add_library(utf8proc STATIC ${utf8proc}/utf8proc.c)
target_compile_definitions(utf8proc PUBLIC UTF8PROC_STATIC)
target_include_directories(utf8proc SYSTEM PUBLIC ${utf8proc})

set(onig ${deps}/oniguruma)
bundled_oniguruma(oniguruma ${onig})
target_compile_definitions(oniguruma PUBLIC ONIG_STATIC)
target_include_directories(oniguruma SYSTEM PUBLIC ${onig}/src)

# Tokenizes only; its trainers are not in the engine.
set(spm ${deps}/sentencepiece/sentencepiece)
bundled_sentencepiece(${spm})
target_include_directories(sentencepiece SYSTEM PUBLIC ${spm}/src)

foreach(library utf8proc oniguruma sentencepiece)
  target_compile_options(${library} PRIVATE -Os -w -msimd128 $<$<COMPILE_LANGUAGE:C>:${c_headers}>
    $<$<COMPILE_LANGUAGE:CXX>:${cxx_headers}> $<$<COMPILE_LANGUAGE:CXX>:${cxx_exceptions}>)
endforeach()
target_compile_definitions(sentencepiece PRIVATE ${cxx_settings} NDEBUG)

add_library(libraries INTERFACE)
target_link_libraries(libraries INTERFACE utf8proc oniguruma sentencepiece)
target_include_directories(libraries SYSTEM INTERFACE ${headers})
