# Runs an example and holds README.md against it: the program must stand there letter for letter, and so must what it
# prints, but for the digits of numbers (they differ in the last places between CPUs).
#   cmake -D README=... -D SOURCE=... -D PROGRAM=... -P check.cmake
get_filename_component(name ${SOURCE} NAME)
file(READ ${README} readme)
file(READ ${SOURCE} source)

execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${name} ended with ${status}:\n${output}${errors}")
endif()

function(require_in_readme what text)
  string(FIND "${readme}" "${text}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "README.md does not hold ${what} of ${name}, which is now:\n${text}")
  endif()
endfunction()
require_in_readme("the program" "```cpp\n${source}```")

string(REGEX REPLACE "[ ]*-?[0-9]+([.][0-9]+)?(e[-+][0-9]+)?" "#" readme "${readme}")
string(REGEX REPLACE "[ ]*-?[0-9]+([.][0-9]+)?(e[-+][0-9]+)?" "#" output "${output}")
require_in_readme("the output" "```text\n${output}```")
