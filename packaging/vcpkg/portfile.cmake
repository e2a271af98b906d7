# An overlay port of this checkout: vcpkg install tapeformer --overlay-ports=<checkout>/packaging/vcpkg
# The sources are those next to it, so it downloads nothing itself.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

# vcpkg has these too, but xtensor in a version with another layout of headers, sentencepiece only as a static library without
# the protobuf that it needs, and no OpenBLAS with OpenMP, which the library opens at run time.
message(STATUS "tapeformer needs from the system: xtensor 0.24 or 0.25, xtensor-blas, sentencepiece and OpenBLAS. On Debian and "
  "Ubuntu: apt-get install libxtensor-dev libxtensor-blas-dev libsentencepiece-dev libopenblas-openmp-dev")

# The shared library contains its dependencies. A static one would name files of the system in its CMake package.
vcpkg_check_linkage(ONLY_DYNAMIC_LIBRARY)
vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS FEATURES tools TAPEFORMER_TOOLS)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${FEATURE_OPTIONS} -DTAPEFORMER_TESTS=OFF -DTAPEFORMER_EXAMPLES=OFF -DTAPEFORMER_CUDA=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME tapeformer CONFIG_PATH lib/cmake/Tapeformer)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES tapeformer AUTO_CLEAN)
endif()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
