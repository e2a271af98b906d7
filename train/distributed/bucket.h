#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../../autograd/tensor.h"
#include "communicator.h"

namespace tape::train {

/// Position of one gradient in a bucket.
struct BucketPart {
  size_t parameter = 0;  ///< index of the parameter
  int64_t offset = 0;
  int64_t numel = 0;
};

/// A slice of a parameter: its values [begin, begin + count), row-major.
struct ParameterSlice {
  size_t parameter = 0;
  int64_t begin = 0;
  int64_t count = 0;
};

/// Splits parameters, in the given order, into buckets of about `bytes` each. A bucket has one dtype and at least one
/// parameter.
std::vector<std::vector<BucketPart>> plan_buckets(const Tensors& parameters, const std::vector<size_t>& order,
                                                  int64_t bytes);
/// One bucket with all parameters, which must share a dtype. Each parameter is aligned to a granule for the kernels.
std::vector<BucketPart> plan_one_bucket(const Tensors& parameters, const std::vector<size_t>& order);

/// Gradients that are exchanged together. The concatenated values g^r of rank r are cut into one share per rank:
///
///     reduce-scatter: rank s receives share s of every rank and sums it:  S_s = ((g_s^0 + g_s^1) + g_s^2) + ...
///     all-gather, if every rank needs all sums:                           every rank receives S_0 S_1 ...
///
/// Each rank sends 2 (n - 1) / n of the bucket, or half of that without the all-gather, as a ring all-reduce does.
/// Every sum is computed by one rank in a fixed order, independent of the transport, so the result is bitwise equal on
/// all ranks and from run to run.
class Bucket {
 public:
  /// bf16: f32 gradients and their sums are rounded to bf16 for transfer.
  Bucket(Communicator& ranks, std::vector<BucketPart> parts, DType dtype, bool bf16);

  const std::vector<BucketPart>& parts() const { return parts_; }
  /// Number of values in a share: the same for every rank, padded with zeros.
  int64_t share_values() const { return chunk_; }
  /// The parameter slices in this rank's share.
  std::vector<ParameterSlice> own_slices() const { return slices_of(ranks_.rank()); }
  /// The parameter slices in the share of `rank`: one per parameter, some of them empty.
  std::vector<ParameterSlice> slices_of(int rank) const;

  /// Packs the gradients of its parameters (zeros for a missing gradient) and starts the exchange. If `whole`, every
  /// rank receives all sums; otherwise each rank adds its own share to what it accumulated since drop().
  void start(Tensors& parameters, bool whole);
  /// Makes progress without waiting. Ranks match all-gathers by the order in which they start them, but shares arrive
  /// in any order: this bucket starts its all-gather only if `turn`, that is, once all earlier buckets have started
  /// theirs. Returns whether the next bucket may start its own.
  bool advance(bool turn);
  /// Waits for the exchange to complete. All earlier buckets must have finished.
  void finish();

  /// View of the summed gradient of a part; requires start() with `whole`.
  Tensor gradient(const BucketPart& part, const Shape& shape) const;
  /// View of the summed gradient of a slice in this rank's share.
  Tensor share_of(const ParameterSlice& slice) const;
  /// Releases the sums.
  void drop();

  /// Sends this rank's slices of `values` to all ranks and receives theirs. `values` are whole parameters or tensors of
  /// the same shapes. This rank's slices must not change between the two calls.
  void start_gathering(const Tensors& values);
  void finish_gathering(Tensors& values);

  /// Bytes sent by this rank so far.
  int64_t sent_bytes() const { return sent_; }

 private:
  enum class Phase { idle, scattering, summed, gathering };
  int64_t share_bytes() const { return chunk_ * wire_bytes_; }
  const BucketPart& part_of(size_t parameter) const;
  void pack(Tensors& parameters);
  void sum_share(bool whole);
  void widen(int64_t begin, int64_t n, Ref<Storage>& to) const;
  Tensor view(const Ref<Storage>& storage, int64_t offset, const Shape& shape) const;

  Communicator& ranks_;
  const std::vector<BucketPart> parts_;
  const DType dtype_;
  const bool bf16_;
  const int64_t wire_bytes_;  // bytes per value in transfer
  int64_t chunk_ = 0;         // values per share
  Device device_;             // of the parameters; exchanges are between hosts
  bool whole_ = false;
  Phase phase_ = Phase::idle;
  Ref<Storage> wire_, received_;
  Ref<Storage> sums_;   // all sums
  Ref<Storage> share_;  // this rank's sums
  std::unique_ptr<Transfer> transfer_;
  int64_t sent_ = 0;
};

}  // namespace tape::train
