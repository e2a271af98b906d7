# cmake -D ROOT=<checkout> -P host_values.cmake: fails where code that should work on every device
# - reads or writes values in the host's memory (data<T>(), mutable_data<T>(), raw()), or
# - takes the CPU's table of a kernel that other devices have too.
# Operations get their kernels and addresses from a KernelCall (autograd/ops/kernel_call.h); others use to_vector() and
# from_vector().
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/sources.cmake)

# Kernels and the host side of devices; tensors themselves and their creation from values of the host; files; what people
# look at; the gradient check, which moves single values; copies of weights for the CPU; communication between processes.
set(allowed "^(autograd/(kernels|cuda|wasm|io|gradcheck|diagnose)/|autograd/(create|print|tensor|xtensor|xtensor_guard)[.]|inspect/|\
models/(gguf|onnx)/|train/distributed/|autograd/tape/graph[.]cpp|autograd/ops/product/packed_weight[.]cpp)")
# Tables that only the CPU has, and functions that are no tables.
set(of_the_cpu "unique<T>|int8_rows|exchange|num_threads|flop_counter|cpu_name|blas_info|isa|products_in_use")

library_sources(sources autograd nn optim text models train inspect)
foreach(source IN LISTS sources)
  if(source MATCHES "${allowed}")
    continue()
  endif()
  file(STRINGS ${ROOT}/${source} lines REGEX "([.>](mutable_)?data<|[.>]raw[(][)]|kernels::[a-z_0-9]+(<[A-Za-z0-9_]+>)?[(][)])")
  foreach(line IN LISTS lines)
    string(STRIP "${line}" line)
    if(line MATCHES "^//")
      continue()
    endif()
    if(line MATCHES "[.>](mutable_)?data<|[.>]raw[(][)]")
      message(SEND_ERROR "${source}: reads or writes values of the host; use a KernelCall, to_vector() or from_vector(): ${line}")
    elseif(NOT line MATCHES "kernels::(${of_the_cpu})[(][)]")
      message(SEND_ERROR "${source}: takes the CPU's kernels; pass the KernelCall to choose those of the tensors' device: ${line}")
    endif()
  endforeach()
endforeach()
