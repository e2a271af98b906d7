# cmake -D PORT_FOLDER=<packaging/vcpkg> -D FOLDER=<scratch> -D FEATURES=tools -P run_portfile.cmake: runs the steps of the vcpkg
# port, with functions that do what vcpkg's do on Linux for a release build, and libraries of the system for those of vcpkg.
# Its packages are then in FOLDER/packages, as vcpkg would copy them into its tree of installed files.
cmake_minimum_required(VERSION 3.22)
set(PORT tapeformer)
set(VCPKG_LIBRARY_LINKAGE static)  # as in vcpkg's default triplet
set(CURRENT_PACKAGES_DIR ${FOLDER}/packages)
if(NOT BUILD)  # or -D BUILD=<folder>, an existing build, to save time
  set(BUILD ${FOLDER}/build)
endif()
file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR})
file(MAKE_DIRECTORY ${CURRENT_PACKAGES_DIR}/debug/include ${CURRENT_PACKAGES_DIR}/debug/share)

# run(COMMAND...): fails with it.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_check_linkage linkage)
  if(linkage STREQUAL ONLY_DYNAMIC_LIBRARY)
    set(VCPKG_LIBRARY_LINKAGE dynamic PARENT_SCOPE)
  elseif(NOT linkage STREQUAL ONLY_STATIC_LIBRARY)
    message(FATAL_ERROR "vcpkg_check_linkage: ${linkage}")
  endif()
endfunction()

function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" OUT_FEATURE_OPTIONS FEATURES)
  set(options)
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    file(READ ${PORT_FOLDER}/vcpkg.json manifest)
    string(JSON described ERROR_VARIABLE missing GET ${manifest} features ${feature} description)
    if(missing)
      message(FATAL_ERROR "vcpkg_check_features: vcpkg.json has no feature ${feature}")
    endif()
    if(feature IN_LIST FEATURES)
      list(APPEND options -D${option}=ON)
    else()
      list(APPEND options -D${option}=OFF)
    endif()
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" SOURCE_PATH OPTIONS)
  string(COMPARE EQUAL ${VCPKG_LIBRARY_LINKAGE} dynamic shared)
  run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${BUILD} -G Ninja -D CMAKE_BUILD_TYPE=Release
      -D BUILD_SHARED_LIBS=${shared} -D CMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} -D CMAKE_INSTALL_LIBDIR=lib
      -D CMAKE_INSTALL_BINDIR=bin -D FETCHCONTENT_FULLY_DISCONNECTED=ON ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build ${BUILD} --target install)
endfunction()

# Moves the CMake package to share/ and lets it find the prefix from there.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
  set(share ${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME})
  file(MAKE_DIRECTORY ${share})
  file(GLOB files ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*)
  if(NOT files)
    message(FATAL_ERROR "vcpkg_cmake_config_fixup: nothing in ${arg_CONFIG_PATH}")
  endif()
  file(COPY ${files} DESTINATION ${share})
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/lib/cmake)
  file(GLOB configs ${share}/*[cC]onfig.cmake ${share}/*Targets.cmake)
  foreach(config IN LISTS configs)
    file(READ ${config} text)
    string(REPLACE "\${CMAKE_CURRENT_LIST_DIR}/../../../" "\${CMAKE_CURRENT_LIST_DIR}/../../" text "${text}")
    # A targets file goes up from lib/cmake/NAME by three folders, but share/NAME is two below the prefix.
    string(REPLACE "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_FILE}\" PATH)\n"
      "set(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_FILE}\")\n" text "${text}")
    file(WRITE ${config} "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/lib/pkgconfig/tapeformer.pc)
    message(FATAL_ERROR "vcpkg_fixup_pkgconfig: lib/pkgconfig/tapeformer.pc is missing")
  endif()
endfunction()

function(vcpkg_copy_tools)
  cmake_parse_arguments(PARSE_ARGV 0 arg AUTO_CLEAN "" TOOL_NAMES)
  foreach(tool IN LISTS arg_TOOL_NAMES)
    file(MAKE_DIRECTORY ${CURRENT_PACKAGES_DIR}/tools/${PORT})
    file(RENAME ${CURRENT_PACKAGES_DIR}/bin/${tool} ${CURRENT_PACKAGES_DIR}/tools/${PORT}/${tool})
  endforeach()
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/bin)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" FILE_LIST)
  file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT} RENAME copyright)
endfunction()

include(${PORT_FOLDER}/portfile.cmake)

# What vcpkg's checks after a build look for.
foreach(file share/tapeformer/copyright share/tapeformer/usage share/tapeformer/TapeformerConfig.cmake
    lib/libtapeformer_core.so include/tapeformer.h)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${file})
    message(FATAL_ERROR "the port installed no ${file}")
  endif()
endforeach()
foreach(folder debug/include debug/share bin lib/cmake)
  if(EXISTS ${CURRENT_PACKAGES_DIR}/${folder})
    message(FATAL_ERROR "vcpkg rejects ${folder}")
  endif()
endforeach()
