# The user's view of the library, the same from the build tree, an installed tree and FetchContent: the target
# Tapeformer::tapeformer and one per component, <tapeformer.h>, <tapeformer/core.h> and so on, and single headers such as <tapeformer/nn/linear.h>. Folders with common names (nn/,
# text/, train/) are never on the user's include path. The library's headers include each other by relative paths.
set(include_tree ${PROJECT_BINARY_DIR}/include)
set(core_folders base autograd nn optim)
set(library_folders)
set(public_headers tapeformer.h)
foreach(component IN LISTS all_components)
  if(NOT DEFINED ${component}_folders)
    set(${component}_folders ${component})
  endif()
  foreach(name ${component}.h ${${component}_folders})  # of an earlier configuration with other components
    file(REMOVE ${include_tree}/tapeformer/${name})
  endforeach()
  if(component IN_LIST components)
    list(APPEND public_headers ${component}.h)
    list(APPEND library_folders ${${component}_folders})
  endif()
endforeach()
list(REMOVE_ITEM library_folders linalg)  # its headers are in autograd/ops/
file(MAKE_DIRECTORY ${include_tree}/tapeformer)
foreach(name IN LISTS library_folders public_headers)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${name} ${include_tree}/tapeformer/${name} SYMBOLIC)
endforeach()
file(CONFIGURE OUTPUT ${include_tree}/tapeformer.h CONTENT "#pragma once\n\n#include \"tapeformer/tapeformer.h\"\n")
target_include_directories(tapeformer_core INTERFACE
  $<BUILD_INTERFACE:${include_tree}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Tapeformer)
set_target_properties(${component_libraries} tapeformer_cuda_emulation PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} INSTALL_RPATH $ORIGIN)
set_target_properties(tapeformer_cuda_emulation PROPERTIES EXPORT_NAME cuda_emulation)
if(NOT BUILD_SHARED_LIBS AND TAPEFORMER_HAS_BACKTRACE)
  target_link_libraries(tapeformer_cuda_emulation PRIVATE $<INSTALL_INTERFACE:$<LINK_ONLY:backtrace>>)
endif()
# An installed library must run on other CPUs too.
if(TAPEFORMER_KERNELS STREQUAL "native")
  list(JOIN component_libraries " " targets_to_build)
  install(CODE "
    execute_process(COMMAND \"${CMAKE_COMMAND}\" -D TAPEFORMER_KERNELS=all \"${PROJECT_BINARY_DIR}\" COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${PROJECT_BINARY_DIR}\" --target ${targets_to_build} tapeformer_cuda_emulation COMMAND_ERROR_IS_FATAL ANY)")
endif()
# A component becomes a Debian package (TapeformerDebian.cmake).
install(TARGETS tapeformer ${component_libraries} EXPORT Tapeformer
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(TARGETS tapeformer_cuda_emulation EXPORT Tapeformer
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT emulation NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
# Headers that include nlohmann-json's, and those that include them in turn, are for the library's own sources only, so that
# programs do not need that library. No public header is among them (tests/consumer).
list(TRANSFORM library_folders APPEND "/*.h" OUTPUT_VARIABLE patterns)
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${patterns})
set(internal_headers)
foreach(header IN LISTS headers)
  file(STRINGS ${PROJECT_SOURCE_DIR}/${header} includes REGEX "^#include [<\"]")
  if(includes MATCHES "<nlohmann/")
    list(APPEND internal_headers ${header})
  endif()
  cmake_path(GET header PARENT_PATH folder)
  foreach(line IN LISTS includes)
    if(line MATCHES "\"(.*)\"")
      cmake_path(SET included NORMALIZE "${folder}/${CMAKE_MATCH_1}")
      list(APPEND includers_of_${included} ${header})
    endif()
  endforeach()
endforeach()
set(open ${internal_headers})
while(open)
  list(POP_FRONT open header)
  foreach(includer IN LISTS includers_of_${header})
    if(NOT includer IN_LIST internal_headers)
      list(APPEND internal_headers ${includer})
      list(APPEND open ${includer})
    endif()
  endforeach()
endwhile()
set(left_out PATTERN web EXCLUDE)
foreach(header IN LISTS internal_headers)
  list(APPEND left_out REGEX "/${header}$" EXCLUDE)
endforeach()
foreach(folder IN LISTS library_folders)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tapeformer
    COMPONENT development FILES_MATCHING PATTERN "*.h" ${left_out})
endforeach()
install(FILES ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tapeformer COMPONENT development)
install(FILES ${include_tree}/tapeformer.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

list(JOIN components ", " components_text)
list(JOIN all_components ", " all_components_text)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/TapeformerConfig.cmake.in
  ${PROJECT_BINARY_DIR}/TapeformerConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TapeformerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT Tapeformer NAMESPACE Tapeformer:: FILE TapeformerTargets.cmake DESTINATION ${package_folder}
  COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/TapeformerConfig.cmake ${PROJECT_BINARY_DIR}/TapeformerConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/TapeformerCuda.cmake DESTINATION ${package_folder} COMPONENT development)
# For other build systems. It names the dependencies of a shared library only.
if(BUILD_SHARED_LIBS)
  file(RELATIVE_PATH prefix_from_pkgconfig /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  function(tapeformer_pkgconfig name title libs)
    list(TRANSFORM ARGN PREPEND "tapeformer-" OUTPUT_VARIABLE requires)
    list(JOIN requires ", " requires)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/tapeformer.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
  endfunction()
  tapeformer_pkgconfig(tapeformer Tapeformer "" ${components})
  foreach(component IN LISTS components)
    tapeformer_pkgconfig(tapeformer-${component} "Tapeformer ${component}" "-L\${libdir} -ltapeformer_${component}"
      ${${component}_needs})
  endforeach()
endif()
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/cmake/TapeformerCuda.cmake ${PROJECT_BINARY_DIR}/TapeformerCuda.cmake SYMBOLIC)
# A static library of the build tree refers to the targets that it links.
set(linked_targets)
if(NOT BUILD_SHARED_LIBS)
  foreach(part options blas backtrace text_libraries xxhash xtensor_blas zlib mpi)
    if(TARGET tapeformer_${part})
      list(APPEND linked_targets tapeformer_${part})
    endif()
  endforeach()
endif()
export(TARGETS tapeformer ${component_libraries} tapeformer_cuda_emulation ${linked_targets} NAMESPACE Tapeformer::
  FILE ${PROJECT_BINARY_DIR}/TapeformerTargets.cmake)
