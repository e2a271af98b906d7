# Trains a model that labels words and uses it.
#   cmake -D COMMAND=... -D FOLDER=... -D FIXTURES=... -P tokens.cmake
file(REMOVE_RECURSE ${FOLDER})

include(${CMAKE_CURRENT_LIST_DIR}/expect.cmake)

# People and places, in CoNLL format and as records.
set(conll "-DOCSTART- -X- O\n\n")
set(records "")
foreach(first Anna Bo Clara)
  foreach(last Berg Lind Sund)
    foreach(verb sings dances reads)
      foreach(place Oslo Paris Rome)
        string(APPEND conll "${first} NNP B-PER\n${last} NNP I-PER\n${verb} VBZ O\nin IN O\n${place} NNP B-LOC\n. . O\n\n")
        string(APPEND records "{\"tokens\": [\"${first}\", \"${last}\", \"${verb}\", \"in\", \"${place}\", \".\"], "
                              "\"ner_tags\": [\"B-PER\", \"I-PER\", \"O\", \"O\", \"B-LOC\", \"O\"]}\n")
      endforeach()
    endforeach()
  endforeach()
endforeach()
file(WRITE ${FOLDER}/train.conll "${conll}")
file(WRITE ${FOLDER}/train.jsonl "${records}")

set(train train tokens --threads 1)
expect_status_reading(0 "" train tokens --help)
expect_text(out "Example: tapeformer train tokens")
expect_status_reading(2 "" ${train} --out ${FOLDER}/run)
expect_text(err "--data is required")

# From scratch.
set(scratch ${train} --data ${FOLDER}/train.conll --layers 1 --width 32 --heads 2 --vocab-size 300 --lr 5e-3 --dropout 0
    --batch 8)
expect_status_reading(0 "" ${scratch} --out ${FOLDER}/run --epochs 4 --json)
expect_text(out "${FOLDER}/train.conll: 1 line that begins with -DOCSTART- skipped")
expect_text(out "73 training sentences with 438 words and 4 labels, 8 validation sentences with 48 words, 10 batches per epoch")
expect_match(out "validation: loss [0-9.]+, accuracy 1, entity F1 1\n")
expect_match(out "\n{\"valid_loss\":[0-9.e-]+,\"valid_accuracy\":1.0,\"valid_f1\":1.0,\"train_seconds\":[0-9.]+,\"steps\":40,[^\n]*}\n$")
foreach(file config.json model.safetensors vocab.json merges.txt log.jsonl report.html)
  if(NOT EXISTS ${FOLDER}/run/${file})
    message(FATAL_ERROR "${file} was not written")
  endif()
endforeach()
file(READ ${FOLDER}/run/config.json config)
expect_text(config "\"BertForTokenClassification\"")
expect_status_reading(0 "" ${scratch} --out ${FOLDER}/run --resume --epochs 5)
expect_text(out "50 steps in")
expect_status_reading(0 "" ${scratch} --out ${FOLDER}/looked --doctor)
if(EXISTS ${FOLDER}/looked)
  message(FATAL_ERROR "--doctor made the folder of the run")
endif()

# One word per line, and JSON that could serve as training data.
set(classify classify --model ${FOLDER}/run)
expect_status_reading(0 "Clara Lind sings in Rome .\n\nBo\t Berg\n" ${classify})
expect_match(out "^Clara\tB-PER\nLind\tI-PER\nsings\tO\nin\tO\nRome\tB-LOC\n\\.\tO\n\n\nBo\tB-PER\nBerg\tI-PER\n\n$")
expect_text(err "tapeformer: 1 of 3 lines were empty and have no label")
expect_status_reading(0 "Bo Berg\n" ${classify} --all)
expect_match(out "^Bo\tB-PER\t0\\.[0-9]+\t[^\n]*\nBerg\tI-PER\t0\\.[0-9]+\t[^\n]*\n\n$")
expect_status_reading(0 "Bo Berg\n" ${classify} --json)
expect_match(out "^{\"tokens\":.\"Bo\",\"Berg\".,\"labels\":.\"B-PER\",\"I-PER\".,\"probabilities\":.0[^\n]*}\n$")
expect_status_reading(3 "Bo\tBerg\n" ${classify} --pair)
expect_text(err "tapeformer: --pair: ${FOLDER}/run is a TokenClassifier, which reads one text per line\n")
expect_status_reading(3 "Bo\n" classify --model ${FIXTURES}/commands/writer)
expect_text(err "is a Gpt, expected a SequenceClassifier or a TokenClassifier")

# From a folder, here the one above, on records.
set(init ${train} --data ${FOLDER}/train.jsonl --init ${FOLDER}/run --out ${FOLDER}/next --overwrite)
expect_status_reading(0 "" ${init} --epochs 1 --freeze 1 --layer-decay 0.9 --max-length 5)
expect_text(out "${FOLDER}/train.jsonl: 73 of 73 sentences cut to 5 tokens")
expect_status_reading(0 "Bo Berg\n" classify --model ${FOLDER}/next)

# Invalid input gives a one-line message.
file(WRITE ${FOLDER}/other.conll "Bo B-DOG\n")
expect_status_reading(3 "" ${scratch} --valid ${FOLDER}/other.conll --out ${FOLDER}/bad)
expect_match(err "^tapeformer: [^\n]*/other.conll: line 1: unknown label \"B-DOG\"; known labels: B-LOC, B-PER, I-PER, O\n$")
file(WRITE ${FOLDER}/other.conll "Bo B-PER\nsings\n")
expect_status_reading(3 "" ${train} --data ${FOLDER}/other.conll --out ${FOLDER}/bad)
expect_match(err "^tapeformer: [^\n]*/other.conll: line 2: no label after the word \"sings\"\n$")
expect_status_reading(3 "" ${train} --data ${FOLDER}/train.conll --init ${FIXTURES}/commands/writer --out ${FOLDER}/bad)
expect_match(err "^tapeformer: [^\n]*/config.json: describes a Gpt, but a classifier needs an encoder to start from\n$")
