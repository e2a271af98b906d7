# The check of a page must fail if a number, block or name in it is changed.
#   cmake -D PAGE=.../linear.md -D PROGRAM=... -D ROOT=... -D FOLDER=... -P changes.cmake
file(READ ${PAGE} page)
file(MAKE_DIRECTORY ${FOLDER})

# Checks a copy in which `from` is replaced by `to`; the check must fail with a message that contains `complaint`.
function(expect_failure from to complaint)
  string(REPLACE "${from}" "${to}" changed "${page}")
  if(changed STREQUAL page)
    message(FATAL_ERROR "the page does not contain ${from}")
  endif()
  file(WRITE ${FOLDER}/changed.md "${changed}")
  execute_process(COMMAND ${CMAKE_COMMAND} -D PAGE=${FOLDER}/changed.md -D PROGRAM=${PROGRAM} -D ROOT=${ROOT}
    -P ${CMAKE_CURRENT_LIST_DIR}/check.cmake RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  string(FIND "${output}" "${complaint}" place)
  if(status EQUAL 0 OR place EQUAL -1)
    message(FATAL_ERROR "${to} instead of ${from} exited with ${status}, not with \"${complaint}\":\n${output}")
  endif()
endfunction()

expect_failure("-0.6500" "-0.6501" "does not contain the numbers \"forward\"")
expect_failure("<!-- numbers: check -->" "" "does not contain the numbers \"check\"")
expect_failure("## The code" "```text\n1.5\n```\n\n## The code" "times \"```text\"")
expect_failure("## The code" "It is 3.1415.\n\n## The code" "contains 3.1415, which the program does not print")
expect_failure("`weight_gradient`" "`weight_gradients`" "names weight_gradients, which is not in the files")
expect_failure("(../../autograd/ops/product/matmul.cpp)" "(../../autograd/ops/product/matrix.cpp)" "which does not exist")
