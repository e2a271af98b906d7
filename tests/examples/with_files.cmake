# Runs the examples that read and write files, on the fixtures.
#   cmake -D PROGRAMS=<folder of the examples> -D FIXTURES=... -D FOLDER=... -P with_files.cmake
cmake_minimum_required(VERSION 3.22)
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})

# Runs a program and sets `out`. Stops unless it succeeds.
macro(run program)
  execute_process(COMMAND ${PROGRAMS}/${program} ${ARGN} INPUT_FILE ${FOLDER}/in.txt RESULT_VARIABLE status
                  OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${program} ended with ${status}:\n${out}${err}")
  endif()
endmacro()
macro(expect condition)
  if(NOT (${condition} ${ARGN}))
    message(FATAL_ERROR "not ${condition} ${ARGN}:\n${out}")
  endif()
endmacro()

file(WRITE ${FOLDER}/in.txt "a red car\na blue sky\nthe red car\n")

# A model is read and written again in several files.
run(hugging_face_folder ${FIXTURES}/hugging_face/bert ${FOLDER}/bert 2000)
set(model "${out}")
string(FIND "${model}" "Bert" place)
expect(place GREATER -1)
expect(EXISTS ${FOLDER}/bert/model.safetensors.index.json)
run(hugging_face_folder ${FOLDER}/bert ${FOLDER}/again)
expect(out STREQUAL model)

# The nearest sentence to a sentence is itself.
file(WRITE ${FOLDER}/again/vocab.txt "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nthe\nred\nblue\ncar\nsky\nand\nof\n")
run(nearest_sentence ${FOLDER}/again "a blue sky" ${FOLDER}/embeddings.safetensors)
expect(out MATCHES "^ *1.000  a blue sky\n *[-0-9.]+  [a-z ]+\n *[-0-9.]+  [a-z ]+\n$")
expect(EXISTS ${FOLDER}/embeddings.safetensors)

foreach(kind_and_size byte_level_bpe:270 bpe:17 unigram:17)
  string(REPLACE ":" ";" parts ${kind_and_size})
  list(GET parts 0 kind)
  list(GET parts 1 size)
  run(train_tokenizer ${FOLDER}/in.txt ${FOLDER}/${kind} ${kind} ${size})
  string(FIND "${out}" "a red car" place)
  expect(place GREATER -1)
endforeach()
expect(EXISTS ${FOLDER}/byte_level_bpe/vocab.json)

# The stories are the same on every machine. A reply counts if it contains all three requested words as whole words.
run(stories ${FOLDER}/stories 100)
expect(out STREQUAL "100 stories, 10 requests with stories, 200 unseen requests\n")
file(STRINGS ${FOLDER}/stories/stories.jsonl stories)
list(LENGTH stories count)
expect(count EQUAL 100)
file(SHA256 ${FOLDER}/stories/stories.jsonl hash)
expect(hash STREQUAL 3ea1899696e9eb5d324dda8b66595fb99cf479b34ef8a2c77d81bd44e5a76e47)
file(WRITE ${FOLDER}/replies.jsonl
     "{\"prompt\":\"Tell of a fox, a map and the pond.\",\"text\":\"A fox had a map. At the pond it was lost.\",\"ended\":true}\n"
     "{\"prompt\":\"Tell of a fox, a map and the pond.\",\"text\":\"A fox had maps and a kite. At the pond it was lost.\",\"ended\":false}\n")
run(stories --check ${FOLDER}/replies.jsonl)
expect(out STREQUAL "2 replies: 1 contain the requested animal, thing and place, 1 mention no other thing, 1 reach an end\n")
