# Prints the tensors of a program in gdb and compares the output. Prints "skipped: ..." if gdb is missing or cannot start programs.
#   cmake -D GDB=... -D PROGRAM=... -D SCRIPT=... -P check.cmake
if(NOT GDB)
  message("skipped: gdb is not installed")
  return()
endif()
set(names leaf made large ids hidden row nothing layer.factor leaf.impl_.object_.shape)
set(prints)
foreach(name IN LISTS names)
  list(APPEND prints -ex "print ${name}")
endforeach()
execute_process(
  COMMAND ${GDB} -nx -batch -ex "set debuginfod enabled off" -ex "set print address off" -ex "source ${SCRIPT}"
    -ex "break look_here" -ex run ${prints} ${PROGRAM}
  OUTPUT_VARIABLE output ERROR_VARIABLE errors)
if(NOT output MATCHES "Breakpoint 1, ")
  message("skipped: gdb does not start programs here:\n${output}${errors}")
  return()
endif()
set(expected
  "f32 [2] {1.5, -2}, leaf, has a gradient"
  "f64 [2, 2] {-1.75, -3.5, 7, 7}, made by 'matmul' in decoder.layers.0"
  "f64 [12] {0, 1, 2, 3, 4, 5, ...}"
  "i64 [1, 3] {3, 1, 0}"
  "boolean [1, 3] {false, false, true}"
  "f64 [2] {7, 7}"
  "undefined"
  "f32 [1, 2] {0.25, 0.25}, leaf"
  "[2]")
set(number 0)
foreach(text IN LISTS expected)
  math(EXPR number "${number} + 1")
  string(FIND "${output}" "\$${number} = ${text}\n" place)
  if(place EQUAL -1)
    message(SEND_ERROR "gdb does not print \"\$${number} = ${text}\"")
  endif()
endforeach()
message("${output}${errors}")
