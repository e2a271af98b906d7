# The user's view of the library, the same from the build tree, an installed tree and FetchContent: the target
# Tapeformer::tapeformer, <tapeformer.h>, and single headers such as <tapeformer/nn/linear.h>. Folders with common names (nn/,
# text/, train/) are never on the user's include path. The library's headers include each other by relative paths.
set(include_tree ${PROJECT_BINARY_DIR}/include)
set(library_folders base autograd nn optim models text train inspect)
foreach(folder IN LISTS library_folders)
  file(MAKE_DIRECTORY ${include_tree}/tapeformer)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${include_tree}/tapeformer/${folder} SYMBOLIC)
endforeach()
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/tapeformer.h ${include_tree}/tapeformer/tapeformer.h SYMBOLIC)
file(CONFIGURE OUTPUT ${include_tree}/tapeformer.h CONTENT "#pragma once\n\n#include \"tapeformer/tapeformer.h\"\n")
target_include_directories(tapeformer INTERFACE
  $<BUILD_INTERFACE:${include_tree}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Tapeformer)
set_target_properties(tapeformer tapeformer_cuda_emulation PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_target_properties(tapeformer_cuda_emulation PROPERTIES EXPORT_NAME cuda_emulation INSTALL_RPATH $ORIGIN)
if(NOT BUILD_SHARED_LIBS)  # a shared library records its dependencies, a static library does not
  target_link_libraries(tapeformer PRIVATE $<INSTALL_INTERFACE:$<LINK_ONLY:${TAPEFORMER_SENTENCEPIECE_TRAIN}>> $<INSTALL_INTERFACE:$<LINK_ONLY:${TAPEFORMER_SENTENCEPIECE}>>
    $<INSTALL_INTERFACE:$<LINK_ONLY:${TAPEFORMER_UTF8PROC}>> $<INSTALL_INTERFACE:$<LINK_ONLY:${TAPEFORMER_ONIGURUMA}>> $<INSTALL_INTERFACE:$<LINK_ONLY:${TAPEFORMER_ZLIB}>> $<INSTALL_INTERFACE:$<LINK_ONLY:${CMAKE_DL_LIBS}>>)
  if(TAPEFORMER_HAS_BACKTRACE)
    target_link_libraries(tapeformer PRIVATE $<INSTALL_INTERFACE:$<LINK_ONLY:backtrace>>)
    target_link_libraries(tapeformer_cuda_emulation PRIVATE $<INSTALL_INTERFACE:$<LINK_ONLY:backtrace>>)
  endif()
endif()
# An installed library must run on other CPUs too.
if(TAPEFORMER_KERNELS STREQUAL "native")
  install(CODE "
    execute_process(COMMAND \"${CMAKE_COMMAND}\" -D TAPEFORMER_KERNELS=all \"${PROJECT_BINARY_DIR}\" COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${PROJECT_BINARY_DIR}\" --target tapeformer tapeformer_cuda_emulation COMMAND_ERROR_IS_FATAL ANY)")
endif()
# A component becomes a Debian package (TapeformerDebian.cmake).
install(TARGETS tapeformer EXPORT Tapeformer
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(TARGETS tapeformer_cuda_emulation EXPORT Tapeformer
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT emulation NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
foreach(folder IN LISTS library_folders)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tapeformer
    COMPONENT development FILES_MATCHING PATTERN "*.h" PATTERN web EXCLUDE)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/tapeformer.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tapeformer COMPONENT development)
install(FILES ${include_tree}/tapeformer.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

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
  configure_file(${PROJECT_SOURCE_DIR}/cmake/tapeformer.pc.in ${PROJECT_BINARY_DIR}/tapeformer.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/tapeformer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endif()
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/cmake/TapeformerCuda.cmake ${PROJECT_BINARY_DIR}/TapeformerCuda.cmake SYMBOLIC)
# A static library of the build tree refers to the targets that it links.
set(linked_targets)
if(NOT BUILD_SHARED_LIBS)
  foreach(part options blas backtrace text xxhash linalg zlib mpi)
    list(APPEND linked_targets tapeformer_${part})
  endforeach()
endif()
export(TARGETS tapeformer tapeformer_cuda_emulation ${linked_targets} NAMESPACE Tapeformer:: FILE ${PROJECT_BINARY_DIR}/TapeformerTargets.cmake)
