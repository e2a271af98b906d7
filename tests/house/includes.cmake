# cmake -D ROOT=<checkout> -P includes.cmake: reads the includes of all sources and fails on
# - a dependency between folders that is not in the list below, or from one family of operations, kernels or layers to a
#   later tier,
# - a library header that includes another project header by anything but a relative path (which installed headers need),
# - a library source that includes a project header by anything but its path from the root,
# - a public header that tapeformer.h does not include, directly or indirectly.
cmake_minimum_required(VERSION 3.22)

# Allowed dependencies. autograd (tensors), autograd/tape and autograd/ops are the core: the tape does not depend on any
# operation, and tensors, whose members are operations, depend on both.
set(core base autograd/kernels autograd autograd/cuda autograd/tape autograd/ops)
set(may_base)
set(may_autograd_kernels base)
set(may_autograd ${core})
set(may_autograd_wasm base autograd autograd/cuda)
set(may_autograd_cuda base autograd/kernels autograd)
set(may_autograd_tape base autograd/kernels autograd)
set(may_autograd_ops ${core})
set(may_autograd_transforms ${core})
set(may_autograd_gradcheck ${core} autograd/transforms)
set(may_autograd_diagnose ${core} autograd/transforms)
set(may_autograd_io ${core})
set(may_nn ${core} autograd/transforms autograd/gradcheck)
set(may_optim ${core} autograd/transforms autograd/gradcheck)
set(may_text base autograd)
set(all_of_autograd ${core} autograd/transforms autograd/gradcheck autograd/diagnose autograd/io)
set(may_models ${all_of_autograd} nn text)
set(may_train ${all_of_autograd} nn optim text models)
set(may_inspect ${may_train} train)
set(may_tools ${may_inspect} inspect)

# Exceptions by file. Remove an exception when it is no longer needed.
set(exceptions
  "nn/module/module.cpp -> autograd/io/safetensors.h")  # Module::save() and load()

# Families of operations, kernels and layers by tier: each may include its own tier and earlier ones.
set(tiers_ops "deferred" "elementwise reduce shape index" "norm product" "attention convolution linalg loss")
set(tiers_kernels "runtime" "vector" "elementwise reduce shape index random" "product"
  "attention convolution linalg loss norm training")
set(tiers_nn "module gradcheck" "norm position" "attention embedding" "transformer")
foreach(kind ops kernels nn)
  set(tier 0)
  foreach(families IN LISTS tiers_${kind})
    string(REPLACE " " ";" families "${families}")
    foreach(family IN LISTS families)
      set(tier_of_${kind}_${family} ${tier})
    endforeach()
    math(EXPR tier "${tier} + 1")
  endforeach()
endforeach()

# Internal headers in folders of public headers.
set(internal autograd/arena.h autograd/device_memory.h autograd/device_times.h autograd/normal_quantile.h autograd/ops/attention/attention_check.h
  autograd/ops/attention/attention_layout.h autograd/ops/check.h autograd/ops/convolution/windows.h
  autograd/ops/elementwise/activation_dtype.h autograd/ops/elementwise/binary_call.h autograd/ops/elementwise/broadcast.h
  autograd/ops/elementwise/unary_call.h autograd/ops/fused.h autograd/ops/fused_call.h autograd/ops/kernel_call.h autograd/ops/random_call.h autograd/ops/index/positions.h autograd/ops/index/selected_values.h
  autograd/ops/linalg/batch.h autograd/ops/linalg/lapack.h autograd/ops/linalg/lu.h autograd/ops/loss/class_targets.h
  autograd/ops/norm/channel_norm.h autograd/ops/deferred/calls.h autograd/ops/deferred/dropped_sum.h autograd/ops/deferred/norm_totals.h autograd/ops/deferred/product.h autograd/ops/reduce/reduction_plan.h autograd/ops/reduce/totals.h
  autograd/ops/shape/extents.h models/adapters/config.h models/adapters/initialization.h
  models/decoders/rotary_config.h models/decoding/decoder_rows.h
  models/decoding/device_tokens.h models/decoding/generation_batch.h models/decoding/host_ids.h
  models/encoder_decoders/fairseq_family.h
  models/encoder_decoders/transformer_json.h models/encoders/architectures.h models/encoders/encoder_family.h
  models/encoders/encoder_folder.h models/encoders/encoder_sizes.h models/folders/config_keys.h
  models/folders/config_reader.h models/folders/family.h models/folders/family_of.h models/folders/folder_loading.h
  models/folders/generation_config.h models/folders/layout_prefix.h models/folders/tokenizer_fit.h models/folders/weights.h
  models/gguf/blocks.h models/gguf/names.h
  models/gguf/tokenizer.h models/heads/encoder_batches.h models/heads/labels.h
  models/heads/length_batches.h models/onnx/graph.h models/npz/zip.h models/onnx/graph.h models/onnx/layers.h models/onnx/models.h
  models/sentence/sentence_parts.h nn/module/tensor_swap.h
  nn/module/unregistered_leaves.h optim/kernel_updates.h)
# Headers that need xtensor, an optional dependency.
list(APPEND internal autograd/xtensor.h autograd/xtensor_guard.h)

# Returns the folder of a path: two levels deep within autograd/, one elsewhere.
function(room_of path result)
  if(path MATCHES "^(autograd/[a-z_]+)/")
    set(${result} ${CMAKE_MATCH_1} PARENT_SCOPE)
  else()
    string(REGEX REPLACE "/.*" "" room ${path})
    set(${result} ${room} PARENT_SCOPE)
  endif()
endfunction()

# Returns the tier of a path within operations, kernels or layers, "" if it has no family.
function(tier_of path result)
  set(${result} "" PARENT_SCOPE)
  if(path MATCHES "^(autograd/ops|autograd/kernels|nn)/([a-z]+)/")
    set(family ${CMAKE_MATCH_2})
    get_filename_component(kind ${CMAKE_MATCH_1} NAME)
    if(NOT DEFINED tier_of_${kind}_${family})
      message(SEND_ERROR "${path}: ${family} is not a known family of ${kind}; add it to a tier here")
    endif()
    set(${result} "${tier_of_${kind}_${family}}" PARENT_SCOPE)
  endif()
endfunction()

# Returns the project headers that a source includes, as paths from the root, and reports wrongly written ones.
function(includes_of source result)
  string(REGEX REPLACE "[^/]+$" "" folder ${source})
  file(STRINGS ${ROOT}/${source} lines REGEX "^#include \"")
  set(found)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" written "${line}")
    cmake_path(SET relative NORMALIZE "${folder}${written}")
    if(EXISTS ${ROOT}/${relative})
      list(APPEND found ${relative})
      if(source MATCHES "\\.cpp$" AND NOT relative STREQUAL written)
        message(SEND_ERROR "${source}: includes \"${written}\"; a source must use the path from the root, \"${relative}\"")
      endif()
    elseif(EXISTS ${ROOT}/${written})
      list(APPEND found ${written})
      if(source MATCHES "\\.h$" AND NOT source MATCHES "^tools/|^[a-z]+[.]h$")
        message(SEND_ERROR "${source}: includes \"${written}\"; a header must use a path relative to itself")
      endif()
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

set(folders base autograd nn optim models text train inspect tools)
list(TRANSFORM folders APPEND "/*.h" OUTPUT_VARIABLE headers)
list(TRANSFORM folders APPEND "/*.cpp" OUTPUT_VARIABLE bodies)
list(TRANSFORM headers PREPEND "${ROOT}/")
list(TRANSFORM bodies PREPEND "${ROOT}/")
file(GLOB_RECURSE sources RELATIVE ${ROOT} ${headers} ${bodies})
if(NOT sources)
  message(FATAL_ERROR "no sources in ${ROOT}")
endif()

set(needed)
foreach(source IN LISTS sources)
  room_of(${source} from)
  tier_of(${source} from_tier)
  string(REPLACE "/" "_" key ${from})
  includes_of(${source} included)
  set(graph_${source} ${included})
  foreach(target IN LISTS included)
    room_of(${target} to)
    tier_of(${target} to_tier)
    # Linear algebra is a component of its own, on top of core.
    if(target MATCHES "^autograd/(ops|kernels)/linalg" AND source MATCHES "^(base|autograd|nn|optim)/" AND NOT source MATCHES "/linalg")
      message(SEND_ERROR "${source}: includes ${target}, but core may not include component linalg")
    endif()
    if(from STREQUAL to AND NOT "${from_tier}" STREQUAL "" AND NOT "${to_tier}" STREQUAL "" AND to_tier GREATER from_tier)
      message(SEND_ERROR "${source}: includes ${target}, a family of a later tier")
    endif()
    if(from STREQUAL to OR to IN_LIST may_${key})
      continue()
    elseif("${source} -> ${target}" IN_LIST exceptions)
      list(APPEND needed "${source} -> ${target}")
    else()
      message(SEND_ERROR "${source}: includes ${target}, but ${from} may not include ${to}")
    endif()
  endforeach()
endforeach()
foreach(exception IN LISTS exceptions)
  if(NOT exception IN_LIST needed)
    message(SEND_ERROR "this exception is no longer needed: ${exception}")
  endif()
endforeach()

# Headers that tapeformer.h includes, directly or indirectly.
set(reached)
set(open)
foreach(header tapeformer.h core.h linalg.h text.h models.h train.h inspect.h)
  if(EXISTS ${ROOT}/${header})
    includes_of(${header} included)
    list(APPEND open ${included})
  endif()
endforeach()
list(FILTER open EXCLUDE REGEX "^[a-z]+[.]h$")
while(open)
  list(POP_FRONT open header)
  if(NOT header IN_LIST reached)
    list(APPEND reached ${header})
    list(APPEND open ${graph_${header}})
  endif()
endwhile()
foreach(source IN LISTS sources)
  if(source MATCHES "^(autograd|autograd/ops(/[a-z]+)?|nn(/[a-z]+)?|optim|models(/[a-z_]+)?)/[a-z0-9_]+\\.h$" AND NOT source IN_LIST reached
     AND NOT source IN_LIST internal)
    message(SEND_ERROR "${source}: tapeformer.h does not reach it; include it there, or list it here as internal")
  endif()
endforeach()
