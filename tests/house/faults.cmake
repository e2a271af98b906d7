# cmake -D SCRIPTS=<this folder> -D FOLDER=<work folder> -P faults.cmake: tests that the other checks in this folder find
# the faults they look for, each in its own small tree.
cmake_minimum_required(VERSION 3.22)

function(expect_noticed script sentence)
  execute_process(COMMAND ${CMAKE_COMMAND} -D ROOT=${FOLDER} -P ${SCRIPTS}/${script} RESULT_VARIABLE code
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")  # cmake breaks long lines
  string(FIND "${output}" "${sentence}" at)
  if(code EQUAL 0 OR at EQUAL -1)
    message(SEND_ERROR "${script} does not print \"${sentence}\" but (${code}):\n${output}")
  endif()
  file(REMOVE_RECURSE ${FOLDER})
endfunction()

function(expect_include_noticed source written sentence)
  file(REMOVE_RECURSE ${FOLDER})
  foreach(header tapeformer.h base/error.h autograd/tensor.h autograd/ops/norm/norm.h autograd/ops/reduce/reduce.h autograd/ops/linalg/lu.h nn/linear.h
          nn/transformer/encoder.h)
    file(WRITE ${FOLDER}/${header} "#pragma once\n")
  endforeach()
  file(WRITE ${FOLDER}/${source} "#include \"${written}\"\n")
  expect_noticed(includes.cmake "${sentence}")
endfunction()

expect_include_noticed(base/file.h ../autograd/tensor.h "base may not include autograd")
expect_include_noticed(autograd/tape/tape.cpp nn/linear.h "autograd/tape may not include nn")
expect_include_noticed(autograd/ops/shape/join.cpp autograd/ops/norm/norm.h "a family of a later tier")
expect_include_noticed(autograd/ops/attention/heads.cpp autograd/ops/linalg/lu.h "core may not include component linalg")
expect_include_noticed(autograd/ops/more/roll.cpp autograd/ops/norm/norm.h "more is not a known family of ops")
expect_include_noticed(nn/norm/layer_norm.cpp nn/transformer/encoder.h "a family of a later tier")
expect_include_noticed(nn/module/module.h autograd/tensor.h "a header must use a path relative to itself")
expect_include_noticed(nn/module/module.cpp ../linear.h "a source must use the path from the root, \"nn/linear.h\"")
expect_include_noticed(nn/module/module.h ../autograd/tensor.h "nn/module/module.h: tapeformer.h does not reach it")
expect_include_noticed(models/decoders/llama.h ../../autograd/tensor.h "models/decoders/llama.h: tapeformer.h does not reach it")
expect_include_noticed(nn/module/module.h ../autograd/tensor.h "this exception is no longer needed: nn/module/module.cpp")

foreach(test "TEST(Matmul, Errors) {" "TEST_F(Matmul, Broadcasts) {" "TEST_P(Matmul,\n       ZeroSizes) {"
        "TEST(Matmul, WithoutBias) {" "TEST(Matmul, adds_products) {")
  file(REMOVE_RECURSE ${FOLDER})
  file(WRITE ${FOLDER}/tests/autograd/matmul.cpp "${test}\n")
  expect_noticed(names.cmake "a test's name must be a sentence that states what holds")
endforeach()

foreach(line "/// The row in place of the column." "raise(ErrorKind::shape, \"needs whole numbers\");")
  file(REMOVE_RECURSE ${FOLDER})
  file(WRITE ${FOLDER}/nn/linear.cpp "${line}\n")
  expect_noticed(words.cmake "nn/linear.cpp:1:")
endforeach()

foreach(line "return fs::exists(path);" "for (const auto& entry : std::filesystem::directory_iterator(folder)) {")
  file(REMOVE_RECURSE ${FOLDER})
  file(WRITE ${FOLDER}/models/folders/weights.cpp "${line}\n")
  expect_noticed(filesystem.cmake "models/folders/weights.cpp: throws a std::filesystem exception")
endforeach()

foreach(fault "float* to = y.mutable_data<float>()|reads or writes values of the host" "copy(x.raw())|reads or writes values of the host"
        "kernels::norm<T>().rms_norm(x)|takes the CPU's kernels")
  string(REPLACE "|" ";" fault "${fault}")
  list(GET fault 0 line)
  list(GET fault 1 sentence)
  file(REMOVE_RECURSE ${FOLDER})
  file(WRITE ${FOLDER}/autograd/ops/norm/norm.cpp "${line}\n")
  expect_noticed(host_values.cmake "autograd/ops/norm/norm.cpp: ${sentence}")
endforeach()
