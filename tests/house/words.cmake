# cmake -D ROOT=<checkout> -P words.cmake: fails on phrases that used to be common in comments, messages and pages here and
# that plain technical English does not use.
cmake_minimum_required(VERSION 3.22)

# A regular expression, then what to write instead.
set(phrases
  "in (the )?place of" "instead of, for"
  "anew" "again"
  "but for" "except"
  "once more" "again"
  "whole numbers" "integers"
  "(is|are|was|were) (told|said)" "receives, is printed, is reported"
  "says? (so|whether|who)" "states, returns, prints"
  "twins?" "reference implementation"
  "roads?" "path, backend"
  "and (its|their) kin" "and similar"
  "at hand" "available"
  "for ever" "forever"
  "next to no(thing)?" "almost no"
  "learnt" "learned"
  "held against" "compared with"
  "(stands?|lies?) (beside|behind|there)" "is next to, follows, is in")

set(folders base autograd nn optim models text train inspect tools tests examples benchmarks scripts cmake docs packaging
  python README.md CONTRIBUTING.md SECURITY.md tapeformer.h core.h linalg.h text.h models.h train.h inspect.h)
set(files)
foreach(folder IN LISTS folders)
  if(EXISTS ${ROOT}/${folder})
    list(APPEND files ${folder})
  endif()
endforeach()

list(LENGTH phrases count)
math(EXPR last "${count} - 1")
foreach(i RANGE 0 ${last} 2)
  list(GET phrases ${i} phrase)
  math(EXPR next "${i} + 1")
  list(GET phrases ${next} better)
  # Not generated files, data, or texts that models learn from.
  execute_process(
    COMMAND grep -rnwE ${phrase} ${files} --include=*.h --include=*.cpp --include=*.cu --include=*.ts --include=*.mjs --include=*.py
      --include=*.sh --include=*.cmake --include=*.md --exclude-dir=dist --exclude-dir=node_modules --exclude-dir=corpus
      --exclude-dir=fixtures --exclude-dir=house --exclude=stories.cpp --exclude=small_gpt.cpp
    WORKING_DIRECTORY ${ROOT} OUTPUT_VARIABLE found RESULT_VARIABLE code)
  if(code GREATER 1)
    message(FATAL_ERROR "grep failed in ${ROOT}")
  endif()
  if(found)
    message(SEND_ERROR "write \"${better}\":\n${found}")
  endif()
endforeach()
