# cmake -D ROOT=<checkout> -P filesystem.cmake: fails on std::filesystem calls that throw its own exception, which would
# reach a user as an internal error. Use the functions of base/path.h, which throw tape::Error, or pass a std::error_code,
# named `failed`, `ignored`, `not_there` or `unused` so that this check recognizes it.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/sources.cmake)

set(calls absolute canonical copy copy_file create_directories create_directory create_symlink current_path
  directory_iterator equivalent exists file_size is_directory is_empty is_fifo is_regular_file is_symlink last_write_time
  permissions proximate read_symlink recursive_directory_iterator relative remove remove_all rename resize_file space status
  symlink_status temp_directory_path weakly_canonical)
list(JOIN calls "|" calls)

library_sources(sources base autograd nn optim models text train inspect tools)
foreach(source IN LISTS sources)
  file(STRINGS ${ROOT}/${source} found REGEX "(fs|filesystem)::[a-z_]+" LIMIT_COUNT 1)
  if(source STREQUAL "base/path.cpp" OR NOT found)
    continue()
  endif()
  # CMake lists split at semicolons and treat brackets specially.
  file(READ ${ROOT}/${source} text)
  string(REGEX REPLACE "[][;]" " " text "${text}")
  string(REGEX MATCHALL "[^\n]*(fs|filesystem)::(${calls})[ (][^\n]*" lines "${text}")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "(failed|ignored|not_there|unused)\\)" AND NOT line MATCHES "^ *//")
      string(STRIP "${line}" line)
      message(SEND_ERROR "${source}: throws a std::filesystem exception; use base/path.h instead: ${line}")
    endif()
  endforeach()
endforeach()
