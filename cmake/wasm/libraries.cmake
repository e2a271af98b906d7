# The libraries of the engine, from sources that scripts/wasm.sh downloads, and headers of the system that are only headers.
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
file(GLOB onig_sources ${onig}/src/reg*.c ${onig}/src/st.c ${onig}/src/utf8.c ${onig}/src/unicode*.c ${onig}/src/ascii.c
  ${onig}/src/onig_init.c ${onig}/src/iso8859_1.c)
list(FILTER onig_sources EXCLUDE REGEX "/(unicode_egcb_data|unicode_property_data|unicode_property_data_posix|unicode_wb_data|unicode_fold_data|regposix|regposerr|reggnu)[.]c$")
add_library(oniguruma STATIC ${onig_sources})
file(CONFIGURE OUTPUT ${headers}/onig/config.h CONTENT "#pragma once
#define PACKAGE \"onig\"
#define PACKAGE_VERSION \"6.9.8\"
#define HAVE_STDINT_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_ALLOCA_H 1
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_VOIDP 4
")
target_compile_definitions(oniguruma PRIVATE HAVE_CONFIG_H PUBLIC ONIG_STATIC)
target_include_directories(oniguruma PRIVATE ${headers}/onig)
target_include_directories(oniguruma SYSTEM PUBLIC ${onig}/src)

# Tokenizes only; its trainers are not in the engine.
set(spm ${deps}/sentencepiece/sentencepiece)
file(GLOB spm_sources ${spm}/src/builtin_pb/*.cc ${spm}/third_party/protobuf-lite/*.cc)
foreach(name bpe_model char_model error filesystem model_factory model_interface normalizer sentencepiece_processor unigram_model util
        word_model)
  list(APPEND spm_sources ${spm}/src/${name}.cc)
endforeach()
add_library(sentencepiece STATIC ${spm_sources} ${spm}/third_party/absl/flags/flag.cc)
file(CONFIGURE OUTPUT ${headers}/sentencepiece/config.h CONTENT "#pragma once
#define VERSION \"0.2.1\"
#define PACKAGE \"sentencepiece\"
#define PACKAGE_STRING \"sentencepiece\"
")
target_compile_definitions(sentencepiece PRIVATE HAVE_PTHREAD INSTALL_DATADIR="")
target_include_directories(sentencepiece PRIVATE ${headers}/sentencepiece ${spm} ${spm}/src/builtin_pb ${spm}/third_party/protobuf-lite)
target_include_directories(sentencepiece SYSTEM PUBLIC ${spm}/src)

foreach(library utf8proc oniguruma sentencepiece)
  target_compile_options(${library} PRIVATE -Os -w -msimd128 $<$<COMPILE_LANGUAGE:C>:${c_headers}>
    $<$<COMPILE_LANGUAGE:CXX>:${cxx_headers}> $<$<COMPILE_LANGUAGE:CXX>:${cxx_exceptions}>)
endforeach()
target_compile_definitions(sentencepiece PRIVATE ${cxx_settings} NDEBUG)

add_library(libraries INTERFACE)
target_link_libraries(libraries INTERFACE utf8proc oniguruma sentencepiece)
target_include_directories(libraries SYSTEM INTERFACE ${headers})
