#include "autograd/cuda/emulation/emulated_blas.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "autograd/cuda/emulation/blas_matmul.h"
#include "autograd/cuda/emulation/device_memory.h"
#include "autograd/cuda/emulation/emulated_driver.h"
#include "autograd/cuda/emulation/streams.h"
#include "base/error.h"

namespace tape::cuda_device::emulation {
namespace {

constexpr int kEmulatedVersion = 130000;
constexpr uint64_t kInnerOfPart = 512;  // longer products are computed in parts, with a workspace
constexpr uint64_t kWorkspace = 4096;

/// What the opaque objects of this library are.
struct MatmulDescriptor {
  BlasCompute compute;
  BlasType scale;
  int32_t transpose_a = blas_operation::none, transpose_b = blas_operation::none;
  uint32_t epilogue = blas_epilogue::none;
  const void* bias = nullptr;
  int64_t bias_stride = 0;
};
struct MatrixLayout {
  BlasType type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t stride = 0;
};
struct MatmulPreference {
  uint64_t workspace_bytes = 0;
  uint32_t reduction_schemes =
      reduction_scheme::in_place | reduction_scheme::in_compute_type | reduction_scheme::in_output_type;
  std::array<uint32_t, 4> alignments = {256, 256, 256, 256};  // of a, b, c, d
};
/// What an algorithm is.
struct ChosenAlgorithm {
  uint64_t product;  // the hash of what it was chosen for
  uint64_t workspace_bytes;
  uint32_t parts, rounds_parts, microseconds;
  BlasStatus status;
  std::array<uint32_t, 4> alignments;
};
static_assert(sizeof(ChosenAlgorithm) <= sizeof(BlasAlgorithm));

template <class T>
BlasStatus assign(T& field, const void* value, size_t bytes) {
  if (!value || bytes != sizeof(T)) return blas_status::invalid_value;
  std::memcpy(&field, value, bytes);
  return blas_status::success;
}

BlasStatus set_matmul(void* descriptor, int attribute, const void* value, size_t bytes) {
  auto& d = *static_cast<MatmulDescriptor*>(descriptor);
  switch (attribute) {
    case matmul_attribute::transpose_a:
      return assign(d.transpose_a, value, bytes);
    case matmul_attribute::transpose_b:
      return assign(d.transpose_b, value, bytes);
    case matmul_attribute::epilogue:
      return assign(d.epilogue, value, bytes);
    case matmul_attribute::bias_pointer:
      return assign(d.bias, value, bytes);
    case matmul_attribute::bias_batch_stride:
      return assign(d.bias_stride, value, bytes);
    default:
      return blas_status::invalid_value;
  }
}

BlasStatus set_layout(void* layout, int attribute, const void* value, size_t bytes) {
  auto& l = *static_cast<MatrixLayout*>(layout);
  switch (attribute) {
    case layout_attribute::batch_count:
      return assign(l.batch, value, bytes);
    case layout_attribute::batch_stride:
      return assign(l.stride, value, bytes);
    default:
      return blas_status::invalid_value;
  }
}

BlasStatus set_preference(void* preference, int attribute, const void* value, size_t bytes) {
  auto& p = *static_cast<MatmulPreference*>(preference);
  switch (attribute) {
    case preference_attribute::workspace_bytes:
      return assign(p.workspace_bytes, value, bytes);
    case preference_attribute::reduction_schemes:
      return assign(p.reduction_schemes, value, bytes);
    case preference_attribute::alignment_a:
    case preference_attribute::alignment_b:
    case preference_attribute::alignment_c:
    case preference_attribute::alignment_d:
      return assign(p.alignments[static_cast<size_t>(attribute - preference_attribute::alignment_a)], value, bytes);
    default:
      return blas_status::invalid_value;
  }
}

/// The descriptor and layouts of a call.
struct Request {
  const MatmulDescriptor& descriptor;
  const MatrixLayout &a, &b, &c, &d;

  uint64_t rows_of_a() const { return descriptor.transpose_a ? a.columns : a.rows; }
  uint64_t inner() const { return descriptor.transpose_a ? a.rows : a.columns; }
  uint64_t rows_of_b() const { return descriptor.transpose_b ? b.columns : b.rows; }
  uint64_t columns_of_b() const { return descriptor.transpose_b ? b.rows : b.columns; }
};

bool is_valid(const MatrixLayout& l) {
  return l.rows > 0 && l.columns > 0 && l.leading >= static_cast<int64_t>(l.rows) && l.batch > 0;
}

/// Whether sums and products of this type can be computed so. As cuBLASLt 13 does, sums of op(B) are made only of a
/// transposed B, whose rows are contiguous then.
bool is_supported(const Request& r) {
  const MatmulDescriptor& d = r.descriptor;
  const bool widens = r.a.type == BlasType::bf16 && r.d.type == BlasType::f32;
  if (r.a.type != r.b.type || r.c.type != r.d.type || (r.a.type != r.d.type && !widens)) return false;
  if (d.epilogue == blas_epilogue::sums_of_b && !d.transpose_b) return false;
  if (r.a.type == BlasType::f64) return d.compute == BlasCompute::f64 && d.scale == BlasType::f64;
  if (d.scale != BlasType::f32) return false;
  return d.compute == BlasCompute::f32 || (d.compute == BlasCompute::tf32 && r.a.type == BlasType::f32);
}

BlasStatus check_request(const Request& r) {
  for (const MatrixLayout* layout : {&r.a, &r.b, &r.c, &r.d})
    if (!is_valid(*layout) || layout->batch != r.d.batch) return blas_status::invalid_value;
  const bool fit = r.rows_of_a() == r.d.rows && r.inner() == r.rows_of_b() && r.columns_of_b() == r.d.columns &&
                   r.c.rows == r.d.rows && r.c.columns == r.d.columns;
  const uint32_t epilogue = r.descriptor.epilogue;
  const bool sums = epilogue == blas_epilogue::sums_of_b && r.d.batch == 1;
  const bool known =
      epilogue == blas_epilogue::none || ((epilogue == blas_epilogue::bias || sums) && r.descriptor.bias);
  if (!fit || !known) return blas_status::invalid_value;
  return is_supported(r) ? blas_status::success : blas_status::not_supported;
}

/// Identifies all of a call except addresses.
uint64_t hash_of_request(const Request& r) {
  uint64_t hash = 0;
  const auto add = [&](auto value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15U + (hash >> 32);
  };
  const MatmulDescriptor& d = r.descriptor;
  add(d.compute);
  add(d.transpose_a), add(d.transpose_b), add(d.epilogue), add(d.bias_stride);
  for (const MatrixLayout* l : {&r.a, &r.b, &r.c, &r.d})
    add(l->type), add(l->rows), add(l->columns), add(l->leading), add(l->batch), add(l->stride);
  return hash;
}

Request request_of(void* descriptor, void* a, void* b, void* c, void* d) {
  const auto layout = [](void* object) -> const MatrixLayout& { return *static_cast<MatrixLayout*>(object); };
  return {*static_cast<MatmulDescriptor*>(descriptor), layout(a), layout(b), layout(c), layout(d)};
}

ChosenAlgorithm choice_of(const Request& request, const MatmulPreference& prefer, const EmulatedAlgorithm& algorithm) {
  ChosenAlgorithm chosen{.product = hash_of_request(request),
                         .workspace_bytes = 0,
                         .parts = 1,
                         .rounds_parts = 0,
                         .microseconds = algorithm.microseconds,
                         .status = algorithm.status,
                         .alignments = prefer.alignments};
  const uint32_t parts = algorithm.parts * (request.inner() >= kInnerOfPart ? 4 : 1);
  if (parts > 1 && prefer.workspace_bytes >= kWorkspace) {
    chosen.workspace_bytes = kWorkspace;
    chosen.parts = parts;
    // The least precise scheme that is allowed.
    chosen.rounds_parts = (prefer.reduction_schemes & ~reduction_scheme::in_compute_type) != 0;
  }
  return chosen;
}

BlasStatus heuristic(void* handle, void* descriptor, void* a, void* b, void* c, void* d, void* preference,
                     int requested, BlasHeuristic* results, int* count) {
  *count = 0;
  if (!handle) return blas_status::not_initialized;
  if (requested < 1) return blas_status::invalid_value;
  const Request request = request_of(descriptor, a, b, c, d);
  if (const BlasStatus status = check_request(request)) return status;
  const auto& prefer = *static_cast<MatmulPreference*>(preference);
  for (const EmulatedAlgorithm& algorithm : driver_state().algorithms) {
    if (*count == requested) break;
    const ChosenAlgorithm chosen = choice_of(request, prefer, algorithm);
    BlasHeuristic& suggested = results[(*count)++];
    suggested = {};
    std::memcpy(&suggested.algorithm, &chosen, sizeof chosen);
    suggested.workspace_bytes = chosen.workspace_bytes;
  }
  return blas_status::success;
}

BlasStatus check_algorithm(void* handle, void* descriptor, void* a, void* b, void* c, void* d,
                           const BlasAlgorithm* algorithm, BlasHeuristic* result) {
  if (!handle) return blas_status::not_initialized;
  const Request request = request_of(descriptor, a, b, c, d);
  if (const BlasStatus status = check_request(request)) return status;
  ChosenAlgorithm chosen;
  std::memcpy(&chosen, algorithm, sizeof chosen);
  if (chosen.product != hash_of_request(request)) return blas_status::invalid_value;
  result->workspace_bytes = chosen.workspace_bytes;
  result->state = blas_status::success;
  return blas_status::success;
}

double scalar(const void* value, BlasType type) {
  return type == BlasType::f64 ? *static_cast<const double*>(value)
                               : static_cast<double>(*static_cast<const float*>(value));
}

BlasMatrix matrix_of(const MatrixLayout& l, const void* data, int32_t operation) {
  return {l.type,   static_cast<int64_t>(l.rows),           static_cast<int64_t>(l.columns), l.leading, l.batch,
          l.stride, operation == blas_operation::transpose, static_cast<const char*>(data)};
}

/// Throws if an address is not as aligned as the algorithm expects.
void check_alignments(const BlasMatmul& p, const std::array<uint32_t, 4>& alignments) {
  const BlasMatrix* const matrices[] = {&p.a, &p.b, &p.c, &p.d};
  for (size_t i = 0; i < alignments.size(); ++i)
    if (reinterpret_cast<uintptr_t>(matrices[i]->data) % alignments[i] != 0)
      raise(ErrorKind::device, "emulated device: cublasLtMatmul: operand {} is not aligned to {} bytes", "abcd"[i],
            alignments[i]);
  // A real one has no alignment of its own for it, and may read it as it writes the result.
  const char* const bias = p.bias ? p.bias : p.sums_of_b;
  if (reinterpret_cast<uintptr_t>(bias) % alignments[3] != 0)
    raise(ErrorKind::device, "emulated device: cublasLtMatmul: the bias is not aligned to {} bytes", alignments[3]);
}

BlasStatus matmul(void* handle, void* descriptor, const void* alpha, const void* a, void* layout_a, const void* b,
                  void* layout_b, const void* beta, const void* c, void* layout_c, void* d, void* layout_d,
                  const BlasAlgorithm* algorithm, void* workspace, size_t workspace_bytes, void* stream) {
  if (!handle) return blas_status::not_initialized;
  const Request request = request_of(descriptor, layout_a, layout_b, layout_c, layout_d);
  if (const BlasStatus status = check_request(request)) return status;
  ChosenAlgorithm chosen;
  std::memcpy(&chosen, algorithm, sizeof chosen);
  if (chosen.product != hash_of_request(request) || workspace_bytes < chosen.workspace_bytes)
    return blas_status::invalid_value;
  if (chosen.status != blas_status::success) return chosen.status;
  for (const void* scale : {alpha, beta})
    if (device_memory()->contains(scale)) return blas_status::invalid_value;
  const MatmulDescriptor& what = request.descriptor;
  const BlasMatmul call{.a = matrix_of(request.a, a, what.transpose_a),
                        .b = matrix_of(request.b, b, what.transpose_b),
                        .c = matrix_of(request.c, c, blas_operation::none),
                        .d = matrix_of(request.d, d, blas_operation::none),
                        .compute = what.compute,
                        .alpha = scalar(alpha, what.scale),
                        .beta = scalar(beta, what.scale),
                        .bias = what.epilogue == blas_epilogue::bias ? static_cast<const char*>(what.bias) : nullptr,
                        .bias_stride = what.bias_stride,
                        .sums_of_b = what.epilogue == blas_epilogue::sums_of_b
                                         ? static_cast<char*>(const_cast<void*>(what.bias))
                                         : nullptr,
                        .workspace = static_cast<char*>(workspace),
                        .workspace_bytes = static_cast<int64_t>(chosen.workspace_bytes),
                        .parts = chosen.parts,
                        .rounds_parts = chosen.rounds_parts != 0};
  check_alignments(call, chosen.alignments);
  if (!is_capturing(stream)) ++driver_state().products;
  auto run = shared_work([call, microseconds = chosen.microseconds] {
    run_matmul(call);
    work_queue().take_longer(microseconds - 1.0);
  });
  const Result submitted =
      submit_to(stream, {NodeWork::Kind::product, chosen.product + chosen.parts, 0, std::move(run)});
  return submitted == result::success ? blas_status::success : blas_status::execution_failed;
}

const char* status_name(BlasStatus status) {
  return status == blas_status::success            ? "CUBLAS_STATUS_SUCCESS"
         : status == blas_status::not_initialized  ? "CUBLAS_STATUS_NOT_INITIALIZED"
         : status == blas_status::invalid_value    ? "CUBLAS_STATUS_INVALID_VALUE"
         : status == blas_status::execution_failed ? "CUBLAS_STATUS_EXECUTION_FAILED"
         : status == blas_status::not_supported    ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                   : "CUBLAS_STATUS_UNKNOWN";
}

template <class T>
BlasStatus destroy(void* object) {
  delete static_cast<T*>(object);
  return blas_status::success;
}

Blas make_blas() {
  Blas b{};
  b.get_version = [] { return static_cast<size_t>(kEmulatedVersion); };
  b.get_status_name = status_name;
  b.create = [](void** handle) { return *handle = new int(0), blas_status::success; };
  b.destroy = destroy<int>;
  b.matmul_create = [](void** descriptor, BlasCompute compute, BlasType scale) {
    return *descriptor = new MatmulDescriptor{compute, scale}, blas_status::success;
  };
  b.matmul_destroy = destroy<MatmulDescriptor>;
  b.matmul_set = set_matmul;
  b.layout_create = [](void** layout, BlasType type, uint64_t rows, uint64_t columns, int64_t leading) {
    return *layout = new MatrixLayout{type, rows, columns, leading}, blas_status::success;
  };
  b.layout_destroy = destroy<MatrixLayout>;
  b.layout_set = set_layout;
  b.preference_create = [](void** preference) { return *preference = new MatmulPreference, blas_status::success; };
  b.preference_destroy = destroy<MatmulPreference>;
  b.preference_set = set_preference;
  b.get_heuristic = heuristic;
  b.algorithm_check = check_algorithm;
  b.matmul = matmul;
  return b;
}

}  // namespace

const Blas& emulated_blas() {
  static const Blas table = make_blas();
  return table;
}

}  // namespace tape::cuda_device::emulation
