# Debian packages, one for each component of the installation: cmake --preset debian && cmake --build --preset debian.
# The prefix /usr, which that preset sets, gives Debian's folders.
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr" OR NOT BUILD_SHARED_LIBS OR NOT TAPEFORMER_TOOLS OR NOT EXISTS /etc/debian_version)
  return()
endif()
set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
# Debian asks for a mail address, which the project does not have. Whoever distributes packages sets theirs.
set(CPACK_PACKAGE_CONTACT "The Tapeformer authors" CACHE STRING "Maintainer of the Debian packages, as Name <address>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
# Packages need the libraries of the system that built them, so its release is a part of their version: 0.2.0-1+debian12.
file(STRINGS /etc/os-release system REGEX "^(ID|VERSION_ID)=")
list(SORT system)  # ID is first
list(TRANSFORM system REPLACE "^[A-Z_]*=|\"" "")
list(JOIN system "" system)
set(CPACK_DEBIAN_PACKAGE_RELEASE "1+${system}")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_COMPONENTS_ALL library emulation development command)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
# Finds the libraries of the packages themselves, which no package on this system contains.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/debian/finish.cmake @ONLY CONTENT "execute_process(
  COMMAND \"@PROJECT_SOURCE_DIR@/scripts/finish_debs.sh\" \${CPACK_PACKAGE_FILES} COMMAND_ERROR_IS_FATAL ANY)\n")
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_BINARY_DIR}/debian/finish.cmake)

# debian_package(component name section summary description [override...]): what every package has. Each override is a line for
# lintian.
macro(debian_package component name section summary description)
  string(TOUPPER ${component} key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${key}_DESCRIPTION "${summary}\n${description}")
  set(CPACK_DEBIAN_${key}_PACKAGE_SHLIBDEPS ON)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component}
    RENAME copyright)
  file(WRITE ${PROJECT_BINARY_DIR}/debian/${component}/overrides "# The project has no mail address.\n"
    "${name}: malformed-contact\n${name}: bogus-mail-host-in-debian-changelog\n" ${ARGN})
  install(FILES ${PROJECT_BINARY_DIR}/debian/${component}/overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
    COMPONENT ${component} RENAME ${name})
endmacro()
debian_package(library libtapeformer${soversion} libs "automatic differentiation and Transformers: library"
  "Tensors, gradients, layers, models and training in C++20. Kernels for SSE4,\nAVX2, AVX-512 and AMX are selected at run time."
  "# One package for all components.\n" "libtapeformer${soversion}: package-name-doesnt-match-sonames\n")
debian_package(emulation libtapeformer-cuda-emulation${soversion} libs "emulated CUDA device for tests of kernels"
  "Runs CUDA kernels on the CPU and finds races, missing barriers and\nout-of-bounds accesses in them.")
debian_package(development libtapeformer-dev libdevel "automatic differentiation and Transformers: headers"
  "Tensors, gradients, layers, models and training in C++20. Contains files for\nCMake's find_package(Tapeformer) and pkg-config.")
debian_package(command tapeformer science "train and run Transformers, see every gradient"
  "The command trains language models, translators, classifiers and\nembeddings, runs them, and writes pages that show their gradients.")

# Opened at run time (autograd/kernels/product/posix/blas.cpp). The first is the one that the library was built with.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libopenblas0-openmp | libopenblas0")
# For the xtensor bridge.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libxtensor-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)

# debian_libraries(component library...): a package with shared libraries states which package programs that link it depend on.
# (CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS does the same, but runs `file` on each header, which takes a minute.)
macro(debian_libraries component)
  string(TOUPPER ${component} key)
  set(shlibs ${PROJECT_BINARY_DIR}/debian/${component}/shlibs)
  file(WRITE ${shlibs} "")
  foreach(library ${ARGN})
    file(APPEND ${shlibs} "lib${library} ${soversion} ${CPACK_DEBIAN_${key}_PACKAGE_NAME} (>= ${PROJECT_VERSION})\n")
  endforeach()
  set(CPACK_DEBIAN_${key}_PACKAGE_CONTROL_EXTRA ${shlibs})
  set(CPACK_DEBIAN_${key}_PACKAGE_MULTIARCH same)
endmacro()
debian_libraries(library ${component_libraries})
debian_libraries(emulation tapeformer_cuda_emulation)

include(CPack)
cpack_add_component(library)
cpack_add_component(emulation DEPENDS library)
cpack_add_component(development DEPENDS library emulation)
cpack_add_component(command DEPENDS library)
