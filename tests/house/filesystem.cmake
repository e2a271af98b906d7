# cmake -D ROOT=<checkout> -P filesystem.cmake: fails on calls of std::filesystem that throw its own exception, which would
# reach a user as an internal error. base/path.h has what throws tape::Error; the other calls take a std::error_code, named
# `failed`, `ignored`, `not_there` or `unused` so that this check sees it.
cmake_minimum_required(VERSION 3.22)

set(calls absolute canonical copy copy_file create_directories create_directory create_symlink current_path
  directory_iterator equivalent exists file_size is_directory is_empty is_fifo is_regular_file is_symlink last_write_time
  permissions proximate read_symlink recursive_directory_iterator relative remove remove_all rename resize_file space status
  symlink_status temp_directory_path weakly_canonical)
list(JOIN calls "|" calls)

set(folders base autograd nn optim models text train inspect tools)
list(TRANSFORM folders PREPEND "${ROOT}/")
list(TRANSFORM folders APPEND "/*.h" OUTPUT_VARIABLE headers)
list(TRANSFORM folders APPEND "/*.cpp" OUTPUT_VARIABLE bodies)
file(GLOB_RECURSE sources RELATIVE ${ROOT} ${headers} ${bodies})
if(NOT sources)
  message(FATAL_ERROR "no sources in ${ROOT}")
endif()
foreach(source IN LISTS sources)
  file(STRINGS ${ROOT}/${source} found REGEX "(fs|filesystem)::[a-z_]+" LIMIT_COUNT 1)
  if(source STREQUAL "base/path.cpp" OR NOT found)
    continue()
  endif()
  # Lists of cmake end at semicolons and know brackets.
  file(READ ${ROOT}/${source} text)
  string(REGEX REPLACE "[][;]" " " text "${text}")
  string(REGEX MATCHALL "[^\n]*(fs|filesystem)::(${calls})[ (][^\n]*" lines "${text}")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "(failed|ignored|not_there|unused)\\)" AND NOT line MATCHES "^ *//")
      string(STRIP "${line}" line)
      message(SEND_ERROR "${source}: throws a std::filesystem exception, which base/path.h has another call for: ${line}")
    endif()
  endforeach()
endforeach()
