# What the command must not do to files, folders and terminals, whatever it is given: overwrite unasked, follow links out of
# a folder, replace devices, print control characters, or fail without a sentence.
#   cmake -D COMMAND=... -D FOLDER=... -D FIXTURES=... -P safety.cmake
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
include(${CMAKE_CURRENT_LIST_DIR}/expect.cmake)
macro(expect_same_file file saved)
  execute_process(COMMAND cmake -E compare_files ${file} ${saved} RESULT_VARIABLE differs)
  if(differs)
    message(FATAL_ERROR "${file} was changed")
  endif()
endmacro()
macro(expect_exists)
  foreach(file ${ARGN})
    if(NOT EXISTS ${file})
      message(FATAL_ERROR "${file} is gone")
    endif()
  endforeach()
endmacro()

string(REPEAT "one two three four five six\n" 60 text)
file(WRITE ${FOLDER}/text.txt "${text}")
set(lm train lm --text ${FOLDER}/text.txt --layers 1 --width 16 --heads 2 --context 16 --threads 1 --steps 4)
expect_status(0 ${lm} --out ${FOLDER}/run)
expect_status(0 export --model ${FOLDER}/run --out ${FOLDER}/run.gguf)
file(COPY ${FOLDER}/run DESTINATION ${FOLDER}/saved)

# A folder is not overwritten unasked, nor while somebody trains there, nor before the new one is complete.
expect_status(4 import --gguf ${FOLDER}/run.gguf --out ${FOLDER}/run)
expect_text(err "tapeformer: ${FOLDER}/run holds checkpoint-4: overwrite it (--overwrite), or choose another folder\n")
execute_process(COMMAND flock ${FOLDER}/run/.lock ${COMMAND} import --gguf ${FOLDER}/run.gguf --out ${FOLDER}/run --overwrite
                RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
check_status(4 "import into a locked folder")
expect_text(err "${FOLDER}/run: locked by process ")
file(WRITE ${FOLDER}/broken.gguf "GGUF")
expect_status(3 import --gguf ${FOLDER}/broken.gguf --out ${FOLDER}/run --overwrite)
list(TRANSFORM lm REPLACE "text[.]txt" "none.txt" OUTPUT_VARIABLE lm_of_nothing)
expect_status(4 ${lm_of_nothing} --out ${FOLDER}/run --overwrite)
expect_same_file(${FOLDER}/run/model.safetensors ${FOLDER}/saved/run/model.safetensors)
expect_same_file(${FOLDER}/run/vocab.json ${FOLDER}/saved/run/vocab.json)
expect_exists(${FOLDER}/run/checkpoint-4 ${FOLDER}/run/log.jsonl)
expect_status(0 import --gguf ${FOLDER}/run.gguf --out ${FOLDER}/imported)
expect_status(0 import --gguf ${FOLDER}/run.gguf --out ${FOLDER}/imported --overwrite)
expect_status(0 generate --model ${FOLDER}/imported --prompt one --max-new-tokens 2)
if(EXISTS ${FOLDER}/imported/.tmp-new)
  message(FATAL_ERROR "unfinished files stay in ${FOLDER}/imported")
endif()
file(MAKE_DIRECTORY ${FOLDER}/others)
file(WRITE ${FOLDER}/others/notes.txt "")
expect_status(4 ${lm} --out ${FOLDER}/others)
expect_text(err "tapeformer: ${FOLDER}/others holds notes.txt: overwrite it (--overwrite), or choose another folder\n")

# Nor is one that the same command reads, by whatever name.
set(init train lm --text ${FOLDER}/text.txt --context 16 --threads 1 --steps 2)
expect_status(0 ${init} --init ${FOLDER}/run --lora-rank 2 --out ${FOLDER}/adapters)
file(CREATE_LINK ${FOLDER}/run ${FOLDER}/link SYMBOLIC)
foreach(name run run/ ./others/../run link)
  expect_status(3 merge --adapter ${FOLDER}/adapters --out ${FOLDER}/${name} --overwrite)
  expect_text(err "tapeformer: ${FOLDER}/${name}: is what this command reads")
  expect_status(3 ${init} --init ${FOLDER}/run --out ${FOLDER}/${name} --overwrite)
  expect_text(err "tapeformer: ${FOLDER}/${name}: is what this command reads")
endforeach()
expect_status(3 ${init} --init ${FOLDER}/adapters --out ${FOLDER}/run --overwrite)
expect_text(err "is what this command reads")
expect_status(3 export --model ${FOLDER}/run --out ${FOLDER}/link/model.safetensors)
expect_text(err "is what this command reads")
expect_same_file(${FOLDER}/run/model.safetensors ${FOLDER}/saved/run/model.safetensors)
expect_exists(${FOLDER}/run/checkpoint-4)

# Devices, FIFOs and links stay what they are.
file(CREATE_LINK /dev/full ${FOLDER}/full SYMBOLIC)
expect_status(4 export --model ${FOLDER}/run --out ${FOLDER}/full)
expect_text(err "tapeformer: ${FOLDER}/full: cannot write: No space left on device\n")
execute_process(COMMAND sh -c "mkfifo '${FOLDER}/fifo'; cat '${FOLDER}/fifo' > '${FOLDER}/through.gguf' & \
  '${COMMAND}' export --model '${FOLDER}/run' --out '${FOLDER}/fifo'; status=$?; wait; test -p '${FOLDER}/fifo' && exit $status"
  RESULT_VARIABLE status ERROR_VARIABLE err)
check_status(0 "export to a FIFO")
expect_same_file(${FOLDER}/through.gguf ${FOLDER}/run.gguf)
execute_process(COMMAND sh -c "'${COMMAND}' export --model '${FOLDER}/run' --out /dev/stdout | cmp - '${FOLDER}/run.gguf'"
                RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
check_status(0 "export to standard output")
file(CREATE_LINK through.gguf ${FOLDER}/link.gguf SYMBOLIC)
expect_status(0 export --model ${FOLDER}/run --out ${FOLDER}/link.gguf --dtype f16)
if(NOT IS_SYMLINK ${FOLDER}/link.gguf OR IS_SYMLINK ${FOLDER}/through.gguf)
  message(FATAL_ERROR "a link was replaced")
endif()

# Links out of a folder are refused by name, whichever file of it they are.
foreach(file config.json model.safetensors vocab.json merges.txt tokenizer_config.json)
  file(REMOVE_RECURSE ${FOLDER}/linked)
  file(COPY ${FOLDER}/imported/ DESTINATION ${FOLDER}/linked)
  if(EXISTS ${FOLDER}/linked/${file})
    file(RENAME ${FOLDER}/linked/${file} ${FOLDER}/outside)
    file(CREATE_LINK ${FOLDER}/outside ${FOLDER}/linked/${file} SYMBOLIC)
    expect_status(3 generate --model ${FOLDER}/linked --prompt one --max-new-tokens 2)
    expect_text(err "tapeformer: ${FOLDER}/linked/${file}: is a link that leaves the folder; copy the file there\n")
  endif()
endforeach()
file(WRITE ${FOLDER}/victim "kept")
file(REMOVE ${FOLDER}/run/.lock)
file(CREATE_LINK ${FOLDER}/victim ${FOLDER}/run/.lock SYMBOLIC)
expect_status(4 ${lm} --out ${FOLDER}/run --resume)
expect_text(err "tapeformer: ${FOLDER}/run/.lock: is a link, which a lock cannot be; remove it\n")
file(READ ${FOLDER}/victim victim)
if(NOT victim STREQUAL "kept")
  message(FATAL_ERROR "a lock was written through a link")
endif()

# What the system says of a path is an error of files, whatever the command.
file(CREATE_LINK loop ${FOLDER}/loop SYMBOLIC)
string(REPEAT "a" 100000 long)
foreach(path ${FOLDER}/loop ${long})
  foreach(arguments "generate --model M --prompt a" "translate --model M" "classify --model M" "tokenize --model M"
          "inspect --model M --text a --out ${FOLDER}/x.html" "run --model M --inputs M --out ${FOLDER}/x"
          "report --model M" "merge --adapter M --out ${FOLDER}/x" "export --model M --out ${FOLDER}/x"
          "import --gguf M --out ${FOLDER}/x" "import --gguf ${FOLDER}/run.gguf --out M"
          "train lm --text M --out ${FOLDER}/x" "train lm --text ${FOLDER}/text.txt --out M"
          "train lm --text ${FOLDER}/text.txt --init M --out ${FOLDER}/x"
          "train lm --text ${FOLDER}/text.txt --tokenizer M --out ${FOLDER}/x"
          "train classifier --data M --out ${FOLDER}/x" "score --hyp M --ref M")
    string(REPLACE " " ";" arguments "${arguments}")
    list(TRANSFORM arguments REPLACE "^M$" "${path}")
    expect_status_reading(4 "" ${arguments})
    string(LENGTH "${err}" length)
    if(length GREATER 2100)
      message(FATAL_ERROR "a message of ${length} bytes")
    endif()
  endforeach()
endforeach()
foreach(folder ${FOLDER}/none ${FOLDER}/text.txt)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env TMPDIR=${folder} ${COMMAND} ${lm} --out ${FOLDER}/x --doctor
                  RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
  check_status(4 "train lm --doctor with TMPDIR=${folder}")
  expect_text(err "tapeformer: ${folder}: cannot make a temporary f")
endforeach()

# A limit of file sizes is an error like a full disk.
execute_process(COMMAND sh -c "ulimit -f 8; exec '${COMMAND}' export --model '${FOLDER}/imported' --out '${FOLDER}/large.gguf'"
                RESULT_VARIABLE status ERROR_VARIABLE err)
check_status(4 "export with a limit of file sizes")
expect_text(err "tapeformer: ${FOLDER}/large.gguf: cannot write: File too large\n")

# Control characters of a file reach no terminal.
string(ASCII 27 escape)
string(ASCII 7 bell)
string(ASCII 239 191 189 replacement)
file(WRITE ${FOLDER}/bad.csv "a${escape}]0;owned${bell},b\n1,2\n")
expect_status(3 train lm --text ${FOLDER}/bad.csv --text-column none --out ${FOLDER}/x)
expect_text(err "there are: a${replacement}]0;owned${replacement}, b\n")
file(MAKE_DIRECTORY ${FOLDER}/escapes)
file(WRITE ${FOLDER}/escapes/config.json "{\"architectures\": [\"\\u001b[31m\\u0007\\u009b31m\"]}")
expect_status(3 generate --model ${FOLDER}/escapes --prompt a)
foreach(control ${escape} ${bell})
  string(FIND "${err}" "${control}" place)
  if(NOT place EQUAL -1)
    message(FATAL_ERROR "a control character in: ${err}")
  endif()
endforeach()
expect_text(err "${replacement}[31m${replacement}${replacement}31m")

# Messages are short, whatever a file holds.
string(REPEAT "x" 1000000 long)
file(WRITE ${FOLDER}/escapes/config.json "{\"architectures\": ${long}}")
expect_status(3 generate --model ${FOLDER}/escapes --prompt a)
string(LENGTH "${err}" length)
if(length GREATER 2100)
  message(FATAL_ERROR "a message of ${length} bytes")
endif()
