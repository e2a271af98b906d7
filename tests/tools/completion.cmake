# The completion scripts: completions in bash, and that the scripts for zsh and fish contain the same words.
#   cmake -D COMMAND=... -D FOLDER=... -P completion.cmake
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/expect.cmake)
file(MAKE_DIRECTORY ${FOLDER})

expect_status(0 completion --shell bash)
file(WRITE ${FOLDER}/tapeformer.bash "${out}")
# Stops unless bash offers exactly the expected words for the given words, of which the last is being typed.
function(expect_completions expected)
  list(LENGTH ARGN count)
  list(JOIN ARGN "' '" words)
  file(WRITE ${FOLDER}/complete.bash "source ${FOLDER}/tapeformer.bash
COMP_WORDS=(tapeformer '${words}')
COMP_CWORD=${count}
_tapeformer
echo \"\${COMPREPLY[*]}\"
")
  execute_process(COMMAND bash ${FOLDER}/complete.bash OUTPUT_VARIABLE offered ERROR_VARIABLE err
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT offered STREQUAL expected)
    message(FATAL_ERROR "tapeformer ${ARGN}: offered \"${offered}\", expected \"${expected}\"\n${err}")
  endif()
endfunction()
expect_completions("train translate" tra)
expect_completions("translation" train tra)
expect_completions("tokens" train to)
expect_completions("--source-column --source-language" train translation --source)
expect_completions("conll csv" train tokens --format c)
expect_completions("--level --layers --lora-rank --lora-alpha --lora-dropout --lora-targets --lr --layer-decay --lr-of" train lm --l)
expect_completions("char" train lm --level c)
expect_completions("classifier" train cl)
expect_completions("mlm" train ml)
expect_completions("embedding" train em)
expect_completions("--mask-share --max-length" train mlm --ma)
expect_completions("mean" train embedding --pooling m)
expect_completions("bash zsh fish" completion --shell "")
expect_completions("${FOLDER}/tapeformer.bash" tokenize --model ${FOLDER}/tape)

foreach(shell zsh fish)
  expect_status(0 completion --shell ${shell})
  foreach(word translation level shakespeare)
    expect_text(out "${word}")
  endforeach()
endforeach()
expect_status(2 completion --shell csh)
expect_text(err "tapeformer: --shell: must be bash, zsh or fish, got csh (did you mean zsh?)\n")
