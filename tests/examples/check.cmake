# Runs an example and compares its output with the text file next to its source. The output must be identical, except for
# the errors of gradient checks (7.1e-09), which differ between CPUs.
#   cmake -D EXPECTED=... -D PROGRAM=... [-D ARGUMENT=...] -P check.cmake
execute_process(COMMAND ${PROGRAM} ${ARGUMENT} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${status}:\n${output}${errors}")
endif()
file(READ ${EXPECTED} expected)
string(REGEX REPLACE "[0-9][.][0-9]e-[0-9]+" "#" expected "${expected}")
string(REGEX REPLACE "[0-9][.][0-9]e-[0-9]+" "#" shown "${output}")
if(NOT shown STREQUAL expected)
  message(FATAL_ERROR "${EXPECTED} differs from the program's output, which is now:\n${output}")
endif()
