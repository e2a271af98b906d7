# What the scripts of this folder say of the command: they are given COMMAND and a FOLDER of their own.

# Stops unless the command ended with the status.
macro(check_status expected_status)
  if(NOT status STREQUAL "${expected_status}")
    message(FATAL_ERROR "tapeformer ${ARGN}: exit code ${status}, expected ${expected_status}\n${out}${err}")
  endif()
endmacro()
# Runs the command; sets `out` and `err`; stops unless it ends with the status.
macro(expect_status expected_status)
  execute_process(COMMAND ${COMMAND} ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
  check_status(${expected_status} ${ARGN})
endmacro()
# The same with a text as its standard input.
macro(expect_status_reading expected_status input)
  file(WRITE ${FOLDER}/in.txt "${input}")
  execute_process(COMMAND ${COMMAND} ${ARGN} INPUT_FILE ${FOLDER}/in.txt RESULT_VARIABLE status
                  OUTPUT_VARIABLE out ERROR_VARIABLE err)
  check_status(${expected_status} ${ARGN})
endmacro()
function(expect_match where pattern)
  if(NOT "${${where}}" MATCHES "${pattern}")
    message(FATAL_ERROR "no match of \"${pattern}\" in:\n${${where}}")
  endif()
endfunction()
macro(expect_text where text)
  string(FIND "${${where}}" "${text}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "no \"${text}\" in:\n${${where}}")
  endif()
endmacro()
