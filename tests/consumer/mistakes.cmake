# Compiles SOURCE with COMPILER, which must fail with a message for every text after "// refused: " in it.
execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -I ${INCLUDE} ${SOURCE}
  RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(result EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiled without an error")
endif()
file(STRINGS ${SOURCE} lines REGEX "// refused: ")
foreach(line ${lines})
  string(REGEX REPLACE ".*// refused: " "" wanted "${line}")
  # Ignores these comments in the source lines that the compiler quotes.
  string(REGEX REPLACE "[^\n]*// refused: [^\n]*" "" answers "${said}")
  string(FIND "${answers}" "${wanted}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "no message contains \"${wanted}\":\n${said}")
  endif()
endforeach()
