#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../../autograd/tensor.h"
#include "communicator.h"

namespace tape::train {

/// Where one gradient lies among the values of a bucket.
struct BucketPart {
  size_t parameter = 0;  ///< its number
  int64_t offset = 0;
  int64_t numel = 0;
};

/// A part of a parameter: its values [begin, begin + count), row-major.
struct ParameterSlice {
  size_t parameter = 0;
  int64_t begin = 0;
  int64_t count = 0;
};

/// Cuts parameters, in the given order, into buckets of about so many bytes, each of one dtype and of at least one
/// parameter.
std::vector<std::vector<BucketPart>> plan_buckets(const Tensors& parameters, const std::vector<size_t>& order,
                                                  int64_t bytes);
/// One bucket of all of them, which are of one dtype; each begins at a whole granule, as kernels like their operands.
std::vector<BucketPart> plan_one_bucket(const Tensors& parameters, const std::vector<size_t>& order);

/// Gradients that are exchanged together. Their values g^r of rank r stand side by side, cut into as many shares as
/// there are ranks:
///
///     rank s is sent share s of all ranks and sums it:    S_s = ((g_s^0 + g_s^1) + g_s^2) + ...
///     where all want all sums:                            S_0 S_1 ... are gathered on every rank
///
/// so each rank sends 2 (n - 1) / n of the bucket, or half of that, as in a ring; but every sum is made by one rank in
/// one order, whatever the transport does: the same bits on all ranks, and from run to run.
class Bucket {
 public:
  /// bf16: f32 values travel rounded to bf16, and so do their sums.
  Bucket(Communicator& ranks, std::vector<BucketPart> parts, DType dtype, bool bf16);

  const std::vector<BucketPart>& parts() const { return parts_; }
  /// Values of a share: the same number for each rank, filled up with zeros.
  int64_t share_values() const { return chunk_; }
  /// The slices of parameters in this rank's share.
  std::vector<ParameterSlice> own_slices() const { return slices_of(ranks_.rank()); }
  /// And in that of another: one a parameter, some of them empty.
  std::vector<ParameterSlice> slices_of(int rank) const;

  /// Takes the gradients of its parameters (zeros for those that have none) and sends them off. `whole`: every rank is
  /// to have all sums; else each has its share, added to what it had since drop().
  void start(Tensors& parameters, bool whole);
  /// Moves it on without waiting. Gathers are matched by the order in which ranks start them, and shares arrive in any:
  /// this bucket starts its own only when it is its turn, that is, when those of all earlier ones were. Whether it is
  /// the next one's turn.
  bool advance(bool turn);
  /// Waits until it is done; those before it must be.
  void finish();

  /// Sums of a part, in the bucket's memory, where they are whole.
  Tensor gradient(const BucketPart& part, const Shape& shape) const;
  /// Sums of values [begin, ...) of a part that lies in this rank's share.
  Tensor share_of(const ParameterSlice& slice) const;
  /// Forgets the sums.
  void drop();

  /// Gives every rank the values of the slices that others own; `values` are whole parameters, or tensors like them.
  /// Between the two, own values must not change.
  void start_gathering(const Tensors& values);
  void finish_gathering(Tensors& values);

  /// Bytes that this rank has sent so far.
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
  const int64_t wire_bytes_;  // of a value on its way
  int64_t chunk_ = 0;         // values of a share
  bool whole_ = false;
  Phase phase_ = Phase::idle;
  Ref<Storage> wire_, received_;
  Ref<Storage> sums_;   // all of them
  Ref<Storage> share_;  // this rank's
  std::unique_ptr<Transfer> transfer_;
  int64_t sent_ = 0;
};

}  // namespace tape::train
