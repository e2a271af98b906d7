#include "train/distributed/bucket.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "autograd/device_memory.h"
#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/kernels/training/exchange.h"
#include "base/error.h"

namespace tape::train {
namespace {

constexpr int64_t kBf16Bytes = 2;

char* bytes_of(const Ref<Storage>& storage, int64_t at) { return static_cast<char*>(storage->data()) + at; }

int64_t values_of(const std::vector<BucketPart>& parts) {
  return parts.empty() ? 0 : parts.back().offset + parts.back().numel;
}

/// Memory of the host for values that are exchanged; pinned if they belong on a GPU.
Ref<Storage> exchanged(int64_t bytes, Device device) {
  if (device.is_cpu()) return Storage::allocate(bytes);
  void* const block = device_memory::allocate_pinned(device, bytes);
  return Storage::borrow(block, bytes, block, device_memory::free_pinned);
}

void copy_values(const void* from, void* to, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

}  // namespace

std::vector<std::vector<BucketPart>> plan_buckets(const Tensors& parameters, const std::vector<size_t>& order,
                                                  int64_t bytes) {
  std::vector<std::vector<BucketPart>> buckets;
  int64_t filled = 0;
  for (const size_t i : order) {
    const Tensor& parameter = parameters[i];
    const int64_t size = parameter.numel() * size_of(parameter.dtype());
    const bool fits = !buckets.empty() && filled + size <= bytes &&
                      parameters[buckets.back().back().parameter].dtype() == parameter.dtype();
    if (!fits) {
      buckets.emplace_back();
      filled = 0;
    }
    buckets.back().push_back({.parameter = i, .offset = values_of(buckets.back()), .numel = parameter.numel()});
    filled += size;
  }
  return buckets;
}

std::vector<BucketPart> plan_one_bucket(const Tensors& parameters, const std::vector<size_t>& order) {
  std::vector<BucketPart> parts;
  for (const size_t i : order) {
    const int64_t granule = Communicator::kGranule / size_of(parameters[i].dtype());
    const int64_t offset = (values_of(parts) + granule - 1) / granule * granule;
    parts.push_back({.parameter = i, .offset = offset, .numel = parameters[i].numel()});
  }
  return parts;
}

Bucket::Bucket(Communicator& ranks, std::vector<BucketPart> parts, DType dtype, bool bf16)
    : ranks_(ranks),
      parts_(std::move(parts)),
      dtype_(dtype),
      bf16_(bf16 && dtype == f32),
      wire_bytes_(bf16_ ? kBf16Bytes : size_of(dtype)) {
  // Each rank's share is a whole number of granules.
  const int64_t granule = Communicator::kGranule / wire_bytes_, each = granule * ranks.size();
  chunk_ = (values_of(parts_) + each - 1) / each * granule;
}

const BucketPart& Bucket::part_of(size_t parameter) const {
  const auto found = std::ranges::find(parts_, parameter, &BucketPart::parameter);
  TAPE_ASSERT(found != parts_.end());
  return *found;
}

std::vector<ParameterSlice> Bucket::slices_of(int rank) const {
  const int64_t first = rank * chunk_;
  std::vector<ParameterSlice> slices;
  for (const BucketPart& part : parts_) {
    const int64_t begin = std::max(first, part.offset), end = std::min(first + chunk_, part.offset + part.numel);
    slices.push_back({.parameter = part.parameter,
                      .begin = std::min(begin - part.offset, part.numel),
                      .count = std::max<int64_t>(end - begin, 0)});
  }
  return slices;
}

void Bucket::pack(Tensors& parameters) {
  const auto& kernels = kernels::exchange();
  int64_t filled = 0;
  const auto fill_up_to = [&](int64_t end) {
    std::memset(bytes_of(wire_, filled * wire_bytes_), 0, static_cast<size_t>((end - filled) * wire_bytes_));
  };
  for (const BucketPart& part : parts_) {
    fill_up_to(part.offset);
    Tensor& parameter = parameters[part.parameter];
    char* const to = bytes_of(wire_, part.offset * wire_bytes_);
    if (!parameter.grad().defined())
      std::memset(to, 0, static_cast<size_t>(part.numel * wire_bytes_));
    else if (const Tensor gradient = parameter.grad().to(cpu); bf16_)
      kernels.to_bf16(part.numel, gradient.data<float>(), reinterpret_cast<uint16_t*>(to));
    else
      copy_values(gradient.raw(), to, part.numel * wire_bytes_);
    parameter.zero_grad();
    filled = part.offset + part.numel;
  }
  fill_up_to(chunk_ * ranks_.size());
}

void Bucket::start(Tensors& parameters, bool whole) {
  TAPE_ASSERT(phase_ == Phase::idle);
  whole_ = whole;
  device_ = parameters[parts_.front().parameter].device();
  wire_ = exchanged(share_bytes() * ranks_.size(), device_);
  received_ = Storage::allocate(share_bytes() * ranks_.size());
  pack(parameters);
  transfer_ = ranks_.start_all_to_all(wire_, received_, share_bytes());
  sent_ += share_bytes() * (ranks_.size() - 1);
  phase_ = Phase::scattering;
}

void Bucket::widen(int64_t begin, int64_t n, Ref<Storage>& to) const {
  to = Storage::allocate(n * size_of(dtype_));
  kernels::exchange().from_bf16(n, reinterpret_cast<const uint16_t*>(bytes_of(wire_, begin * wire_bytes_)),
                                static_cast<float*>(to->data()));
}

/// Converts this rank's summed share into its block of wire_, from which it is gathered.
void Bucket::sum_share(bool whole) {
  const auto& kernels = kernels::exchange();
  const int64_t first = ranks_.rank() * chunk_;
  char* const to = bytes_of(wire_, first * wire_bytes_);
  const void* const blocks = received_->data();
  if (bf16_)
    kernels.sum_bf16(chunk_, ranks_.size(), chunk_, static_cast<const uint16_t*>(blocks),
                     reinterpret_cast<uint16_t*>(to));
  else if (dtype_ == f32)
    kernels.sum_f32(chunk_, ranks_.size(), chunk_, static_cast<const float*>(blocks), reinterpret_cast<float*>(to));
  else
    kernels.sum_f64(chunk_, ranks_.size(), chunk_, static_cast<const double*>(blocks), reinterpret_cast<double*>(to));
  received_ = nullptr;
  if (whole) return;
  Ref<Storage> sums;
  if (bf16_) {
    widen(first, chunk_, sums);
  } else {
    sums = Storage::allocate(share_bytes());
    copy_values(to, sums->data(), share_bytes());
  }
  wire_ = nullptr;
  if (!share_)
    share_ = std::move(sums);
  else if (dtype_ == f32)
    kernels::elementwise<float>().accumulate(chunk_, static_cast<const float*>(sums->data()), 1.0F,
                                             static_cast<float*>(share_->data()));
  else
    kernels::elementwise<double>().accumulate(chunk_, static_cast<const double*>(sums->data()), 1.0,
                                              static_cast<double*>(share_->data()));
}

bool Bucket::advance(bool turn) {
  if (phase_ == Phase::scattering && transfer_->done()) {
    transfer_.reset();
    sum_share(whole_);
    phase_ = whole_ ? Phase::summed : Phase::idle;
  }
  if (phase_ == Phase::summed && turn) {
    transfer_ = ranks_.start_all_gather(wire_, wire_, share_bytes());
    sent_ += share_bytes() * (ranks_.size() - 1);
    phase_ = Phase::gathering;
  }
  if (phase_ == Phase::gathering && transfer_->done()) {
    transfer_.reset();
    if (bf16_)
      widen(0, chunk_ * ranks_.size(), sums_);
    else
      sums_ = wire_;
    wire_ = nullptr;
    phase_ = Phase::idle;
  }
  return turn && (phase_ == Phase::gathering || phase_ == Phase::idle);
}

void Bucket::finish() {
  for (;;) {
    advance(true);
    if (phase_ == Phase::idle) return;
    transfer_->wait();
  }
}

Tensor Bucket::view(const Ref<Storage>& storage, int64_t offset, const Shape& shape) const {
  return Tensor(Ref<TensorImpl>(new TensorImpl(storage, offset * size_of(dtype_), shape, dtype_)));
}

Tensor Bucket::gradient(const BucketPart& part, const Shape& shape) const {
  return view(sums_, part.offset, shape).to(device_);
}

Tensor Bucket::share_of(const ParameterSlice& slice) const {
  const int64_t at = part_of(slice.parameter).offset + slice.begin - ranks_.rank() * chunk_;
  return view(share_, slice.count > 0 ? at : 0, {slice.count}).to(device_);
}

void Bucket::drop() {
  sums_ = nullptr;
  share_ = nullptr;
}

void Bucket::start_gathering(const Tensors& values) {
  TAPE_ASSERT(phase_ == Phase::idle);
  const int64_t bytes = size_of(dtype_), first = ranks_.rank() * chunk_;
  wire_ = exchanged(chunk_ * bytes * ranks_.size(), values[parts_.front().parameter].device());
  std::memset(bytes_of(wire_, first * bytes), 0, static_cast<size_t>(chunk_ * bytes));
  for (const ParameterSlice& slice : own_slices()) {
    const Tensor& from = values[slice.parameter];
    copy_bytes(cpu, bytes_of(wire_, (part_of(slice.parameter).offset + slice.begin) * bytes), from.device(),
               static_cast<const char*>(from.device_raw()) + slice.begin * bytes, slice.count * bytes);
  }
  transfer_ = ranks_.start_all_gather(wire_, wire_, chunk_ * bytes);
  sent_ += chunk_ * bytes * (ranks_.size() - 1);
}

void Bucket::finish_gathering(Tensors& values) {
  transfer_->wait();
  transfer_.reset();
  const int64_t bytes = size_of(dtype_);
  for (const BucketPart& part : parts_) {
    const Tensor& to = values[part.parameter];
    to.impl().storage->bump_version();  // in-place write, as an optimizer's
    copy_bytes(to.device(), to.device_raw(), cpu, bytes_of(wire_, part.offset * bytes), part.numel * bytes);
  }
  wire_ = nullptr;
}

}  // namespace tape::train
