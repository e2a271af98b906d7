# Training under mpirun: several processes print one result, ranks with different settings are refused, and an error is
# reported once.
#   cmake -D COMMAND=... -D MPIRUN=... -D FOLDER=... -P ranks.cmake
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})

include(${CMAKE_CURRENT_LIST_DIR}/expect.cmake)
set(tapeformer ${COMMAND})
set(COMMAND ${MPIRUN})
# Stops unless `err` contains the message exactly once and no other message.
macro(expect_message text)
  string(REGEX MATCHALL "tapeformer: [^\n]*" said "${err}")
  if(NOT said STREQUAL "tapeformer: ${text}")
    message(FATAL_ERROR "expected only \"${text}\", got:\n${err}")
  endif()
endmacro()

set(text "")
foreach(a one two three four five six)
  foreach(b one two three four five six)
    string(APPEND text "${a} ${b} ${a}\n")
  endforeach()
endforeach()
file(WRITE ${FOLDER}/text.txt "${text}${text}")
file(WRITE ${FOLDER}/other.txt "${text}${text}more\n")
set(model --context 8 --batch 4 --layers 1 --width 8 --heads 1 --threads 1)
set(train ${tapeformer} train lm ${model} --text ${FOLDER}/text.txt --steps 4)
string(REPLACE "--steps;4" "--steps;6" longer "${train}")

# Three processes print one JSON line and write a folder that a single process can resume.
expect_status(0 -n 3 ${train} --out ${FOLDER}/run --zero 2 --json)
expect_text(out ", 1 thread, 3 processes\n")
string(REGEX MATCHALL "\"valid_loss\":" lines "${out}")
if(NOT lines STREQUAL "\"valid_loss\":")
  message(FATAL_ERROR "expected one JSON line, got:\n${out}")
endif()
execute_process(COMMAND ${longer} --out ${FOLDER}/run --resume RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
check_status(0 train lm --resume)
expect_text(out "ranks 3 then, 1 now")

# A run with sharded layer parameters can be resumed.
expect_status(0 -n 2 ${train} --out ${FOLDER}/spread --zero 3)
expect_status(0 -n 2 ${longer} --out ${FOLDER}/spread --zero 3 --resume)

# Benchmarks of several processes.
expect_status(0 -n 2 ${tapeformer} bench train-step --config gpt-nano --steps 1 --warmup 1 --threads 1)
expect_text(out "\"ranks\":2,\"sent_mb\":3.2")
expect_status(3 -n 2 ${tapeformer} bench train-step --config gpt-nano --profile)
expect_message("bench train-step: --profile and --trace need a single process, but mpirun started 2")
set(bench ${tapeformer} bench train-step --config gpt-nano --warmup 0 --threads 1)
expect_status(3 -n 1 ${bench} --steps 1 : -n 1 ${bench} --steps 2)
expect_message("bench train-step: the options: rank 1 has --steps 2, rank 0 has --steps 1")

# An error of all processes is reported once.
expect_status(4 -n 3 ${tapeformer} train lm ${model} --text ${FOLDER}/none.txt --out ${FOLDER}/none)
expect_message("${FOLDER}/none.txt: cannot open: No such file or directory")
expect_status(3 -n 2 ${train} --out ${FOLDER}/doctor --doctor)
expect_message("train: --doctor needs a single process, but mpirun started 2")

expect_status(2 -n 3 ${train} --steps 5 --out ${FOLDER}/twice)
expect_message("--steps: given twice, as 4 and 5; give it once")
expect_status(2 -n 3 ${train} --step 5 --out ${FOLDER}/unknown)
expect_message("--step: no such option (did you mean --steps?)")
foreach(task classifier tokens mlm embedding)
  expect_status(3 -n 3 ${tapeformer} train ${task} --data ${FOLDER}/text.txt --valid ${FOLDER}/other.txt --valid-fraction 0.5
    --out ${FOLDER}/encoder)
  expect_message("--valid-fraction: has no effect with --valid")
endforeach()
# One that is found before training leaves no run behind.
expect_status(3 -n 2 ${train} --zero 3 --ema 0.9 --out ${FOLDER}/average)
expect_message("Trainer: ema_decay 0.9 needs a second copy of all parameters on every rank, but the ranks shard them (Sharding::parameters)")
expect_status(0 -n 2 ${train} --zero 2 --ema 0.9 --out ${FOLDER}/average)

# Ranks with different data or settings.
expect_status(3 -n 1 ${train} --out ${FOLDER}/data : -n 1 ${tapeformer} train lm ${model} --text ${FOLDER}/other.txt --out ${FOLDER}/data)
expect_text(err "tapeformer: Trainer: the ranks have different settings: text ${FOLDER}/text.txt (")
expect_status(3 -n 1 ${train} --seed 1 --out ${FOLDER}/seed : -n 1 ${train} --seed 2 --out ${FOLDER}/seed)
expect_message("Trainer: the ranks have different settings: seed 1 on rank 0, 2 on rank 1")
expect_status(3 -n 1 ${train} --out ${FOLDER}/zero : -n 1 ${train} --zero 1 --out ${FOLDER}/zero)
expect_message("Trainer: the ranks have different settings: sharding (ZeRO) 0 on rank 0, 1 on rank 1")
