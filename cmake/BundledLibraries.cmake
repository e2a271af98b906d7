# Libraries that the engine in pages and the wheel compile from sources, which scripts/bundled_sources.sh downloads. Both set
# their own compile options.

# bundled_oniguruma(target folder)
function(bundled_oniguruma target folder)
  file(GLOB sources ${folder}/src/reg*.c ${folder}/src/st.c ${folder}/src/utf8.c ${folder}/src/unicode*.c ${folder}/src/ascii.c
    ${folder}/src/onig_init.c ${folder}/src/iso8859_1.c)
  list(FILTER sources EXCLUDE REGEX "/(unicode_egcb_data|unicode_property_data|unicode_property_data_posix|unicode_wb_data|unicode_fold_data|regposix|regposerr|reggnu)[.]c$")
  add_library(${target} STATIC ${sources})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/bundled/onig/config.h CONTENT "#pragma once
#define PACKAGE \"onig\"
#define PACKAGE_VERSION \"6.9.8\"
#define HAVE_STDINT_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_ALLOCA_H 1
#define SIZEOF_INT __SIZEOF_INT__
#define SIZEOF_LONG __SIZEOF_LONG__
#define SIZEOF_LONG_LONG __SIZEOF_LONG_LONG__
#define SIZEOF_VOIDP __SIZEOF_POINTER__
")
  target_compile_definitions(${target} PRIVATE HAVE_CONFIG_H)
  target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/bundled/onig)
endfunction()

# bundled_sentencepiece(folder): the target sentencepiece, which tokenizes, without the trainers.
function(bundled_sentencepiece folder)
  file(GLOB sources ${folder}/src/builtin_pb/*.cc ${folder}/third_party/protobuf-lite/*.cc)
  foreach(name bpe_model char_model error filesystem model_factory model_interface normalizer sentencepiece_processor
          unigram_model util word_model)
    list(APPEND sources ${folder}/src/${name}.cc)
  endforeach()
  add_library(sentencepiece STATIC ${sources} ${folder}/third_party/absl/flags/flag.cc)
  bundled_sentencepiece_settings(sentencepiece ${folder})
endfunction()

# bundled_sentencepiece_settings(target folder): what its sources are compiled with.
function(bundled_sentencepiece_settings target folder)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/bundled/sentencepiece/config.h CONTENT "#pragma once
#define VERSION \"0.2.1\"
#define PACKAGE \"sentencepiece\"
#define PACKAGE_STRING \"sentencepiece\"
")
  target_compile_definitions(${target} PRIVATE HAVE_PTHREAD INSTALL_DATADIR="")
  target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/bundled/sentencepiece ${folder} ${folder}/src/builtin_pb
    ${folder}/third_party ${folder}/third_party/protobuf-lite)
endfunction()
