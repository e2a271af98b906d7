# Every training command resumes with only --out and --resume, also from another working directory, and prints next
# commands that work.
#   cmake -D COMMAND=... -D FOLDER=... -P resume.cmake
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER}/elsewhere)

include(${CMAKE_CURRENT_LIST_DIR}/expect.cmake)
# Like expect_status, in a folder below FOLDER.
macro(expect_status_in where expected_status)
  execute_process(COMMAND ${COMMAND} ${ARGN} WORKING_DIRECTORY ${FOLDER}/${where} RESULT_VARIABLE status
                  OUTPUT_VARIABLE out ERROR_VARIABLE err)
  check_status(${expected_status} ${ARGN})
endmacro()
# Runs the next commands that the run printed, in the same folder.
macro(expect_next_commands_to_work where)
  if(NOT out MATCHES "\nNext steps:\n(.*)$")
    message(FATAL_ERROR "no next commands in:\n${out}")
  endif()
  string(REPLACE "\n" ";" next "${CMAKE_MATCH_1}")
  foreach(line IN LISTS next)
    if(line AND NOT line MATCHES "labeled[.]tsv")  # a placeholder for the user's file
      execute_process(COMMAND sh -c "${line}" WORKING_DIRECTORY ${FOLDER}/${where} RESULT_VARIABLE status
                      OUTPUT_VARIABLE ignored ERROR_VARIABLE err)
      if(NOT status EQUAL 0)
        message(FATAL_ERROR "exit code ${status} of the printed command:\n${line}\n${err}")
      endif()
    endif()
  endforeach()
endmacro()

set(lines "")
set(labelled "")
set(pairs "")
set(words "")
foreach(i RANGE 20)
  foreach(pair "sunny;good" "rainy;bad")
    list(GET pair 0 weather)
    list(GET pair 1 label)
    string(APPEND lines "day ${i} was ${weather}\n")
    string(APPEND labelled "day ${i} was ${weather}\t${label}\n")
    string(APPEND pairs "day ${i} was ${weather}\t${i} ${label}\n")
    string(APPEND words "day O\n${weather} ${label}\n\n")
  endforeach()
endforeach()
file(WRITE ${FOLDER}/lines.txt "${lines}")
file(WRITE ${FOLDER}/labelled.tsv "${labelled}")
file(WRITE ${FOLDER}/pairs.tsv "${pairs}")
file(WRITE ${FOLDER}/words.conll "${words}")

set(small --threads 1 --steps 2 --layers 1 --width 16 --heads 2)
set(task_lm --text lines.txt --context 8 --batch 2)
set(task_translation --tsv pairs.tsv --valid-tsv pairs.tsv --vocab-size 60)
set(task_classifier --data labelled.tsv --vocab-size 300)
set(task_tokens --data words.conll --vocab-size 300)
set(task_mlm --data lines.txt --vocab-size 300)
set(task_embedding --data pairs.tsv --vocab-size 300)
foreach(task lm translation classifier tokens mlm embedding)
  expect_status_in(. 0 train ${task} ${task_${task}} ${small} --out runs/${task})
  expect_next_commands_to_work(.)
  file(READ ${FOLDER}/runs/${task}/run.json kept)
  string(JSON command GET "${kept}" command)
  if(NOT command STREQUAL "train ${task}")
    message(FATAL_ERROR "run.json names ${command}:\n${kept}")
  endif()
  # More steps are allowed, other changes are refused by name, and options that are not given are the run's.
  expect_status_in(elsewhere 0 train ${task} --out ${FOLDER}/runs/${task} --resume --steps 4)
  expect_text(out "4 steps in ")
  expect_status_in(elsewhere 0 train ${task} --out=../runs/${task} --resume)
  expect_text(out "4 steps in ")
  expect_next_commands_to_work(elsewhere)
  expect_status_in(elsewhere 3 train ${task} --out ${FOLDER}/runs/${task} --resume --lr 0.25)
  expect_match(err "settings differ from those of the run: lr [0-9.]+ then, 0.25 now; use --allow-changes to resume anyway\n")
  expect_status_in(elsewhere 0 train ${task} --out ${FOLDER}/runs/${task} --resume --json)
  expect_no_text(out "Next steps")
endforeach()

# --epochs replaces the saved --steps.
expect_status_in(elsewhere 0 train lm --out ${FOLDER}/runs/lm --resume --epochs 0.2)
expect_match(out "\n([5-9]|[1-9][0-9]+) steps in ")

expect_status_in(. 0 demo --steps 2 --batch-tokens 40 --pairs 200 --held-out 1 --seconds 0 --threads 1 --out runs/demo)
expect_text(out "\nNext steps:\n")
expect_status_in(elsewhere 0 demo --out ${FOLDER}/runs/demo --resume --steps 3 --allow-changes)
expect_text(out "after 3 steps")
expect_status_in(elsewhere 0 demo --out ${FOLDER}/runs/demo --resume)
expect_text(out "after 3 steps")

# An interrupted run prints the command that resumes it.
execute_process(COMMAND timeout --foreground --preserve-status -s INT 3 ${COMMAND} train lm ${task_lm} --layers 1 --width 16 --heads 2
                        --threads 1 --steps 100000000 --out runs/stopped
                WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
check_status(130 "train lm, interrupted")
expect_match(out "\nNext steps:\n  [^\n]* train lm --out runs/stopped --resume\n$")

# So does one whose terminal is closed, unless it ignores that (nohup). Without a reader of its output, a run trains on.
set(endless train lm ${task_lm} --layers 1 --width 16 --heads 2 --threads 1 --steps 100000000)
list(JOIN endless " " arguments)
foreach(name hung_up nohup)
  set(before ":")  # a terminal may send several signals
  set(after "kill -HUP $pid 2> /dev/null")
  set(expected 129)
  if(name STREQUAL nohup)
    set(before "trap '' HUP")
    set(after "sleep 1; kill -TERM $pid")
    set(expected 143)
  endif()
  execute_process(COMMAND sh -c "${before}; '${COMMAND}' ${arguments} --out runs/${name} > ${name}.txt & pid=$!
    for try in $(seq 300); do grep -q '\"step\"' runs/${name}/log.jsonl 2> /dev/null && break; sleep 0.1; done
    kill -HUP $pid; ${after}; wait $pid" WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE status ERROR_VARIABLE err)
  check_status(${expected} "train lm, ${name}")
  file(READ ${FOLDER}/${name}.txt out)
  expect_match(out "\nNext steps:\n  [^\n]* train lm --out runs/${name} --resume\n$")
endforeach()
list(JOIN task_lm " " arguments)
execute_process(COMMAND sh -c "{ '${COMMAND}' train lm ${arguments} --layers 1 --width 16 --heads 2 --threads 1 --steps 30 \
  --out runs/unread 2> unread.txt; echo $? > status.txt; } | true" WORKING_DIRECTORY ${FOLDER})
file(READ ${FOLDER}/status.txt status)
file(READ ${FOLDER}/unread.txt err)
string(STRIP "${status}" status)
check_status(4 "train lm, without a reader")
expect_text(err "tapeformer: standard output: cannot write: ")
if(NOT EXISTS ${FOLDER}/runs/unread/checkpoint-30)
  message(FATAL_ERROR "the run without a reader did not train on")
endif()

# A step of many batches is not waited for.
set(long train lm ${task_lm} --layers 1 --width 16 --heads 2 --threads 1 --steps 2 --accumulate 10000000)
execute_process(COMMAND timeout --foreground --preserve-status -s TERM 2 ${COMMAND} ${long} --out runs/long WORKING_DIRECTORY ${FOLDER}
                RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
check_status(143 "train lm --accumulate 10000000, terminated")
expect_match(out "\nNext steps:\n  [^\n]* train lm --out runs/long --resume\n$")
expect_status_in(. 0 ${long} --seconds 1 --out runs/longer)
expect_text(out "0 steps in 0:01 (time)")

# A run of another command, an invalid run.json, and no run at all.
expect_status_in(. 3 train mlm --out runs/lm --resume)
expect_text(err "tapeformer: runs/lm/run.json: the run was started with `train lm`, not with `train mlm`\n")
expect_status_in(. 2 train lm --out runs/nothing --resume)
expect_text(err "tapeformer: --text is required (runs/nothing/run.json, which stores the options of a run, does not exist)\n")
foreach(wrong "[]" "{\"command\": \"train lm\", \"options\": {\"--steps\": 4}}"
        "{\"command\": \"train lm\", \"options\": {\"--out\": [\"x\"]}}" "{\"command\": \"train lm\", \"options\": {\"-x\": [\"\"]}}")
  file(WRITE ${FOLDER}/runs/lm/run.json "${wrong}")
  expect_status_in(. 3 train lm --out runs/lm --resume)
  expect_text(err "tapeformer: runs/lm/run.json: ")
endforeach()

expect_status_in(. 2 train lm --resume)
expect_text(err "tapeformer: --out is required with --resume\n")
expect_status_in(. 3 train lm --out runs/unread --resume --steps 10)
expect_text(err "tapeformer: runs/unread/checkpoint-30: the run has already done 30 steps, more than the 10 requested\n")

# Repeated options are refused.
expect_status_in(. 2 train lm --text lines.txt --lr 0.1 --out runs/x --lr=0.2)
expect_text(err "tapeformer: --lr: given twice, as 0.1 and 0.2; give it once\n")
expect_status_in(. 2 train lm --text lines.txt --out runs/x --pack --pack)
expect_text(err "tapeformer: --pack: given twice; give it once\n")
expect_status_in(. 2 generate --model a --model b --prompt c)
expect_text(err "tapeformer: --model: given twice, as a and b; give it once\n")
