#pragma once

#include <stdint.h>

/// Planes x [outer, channels, size]. A group of values shares a mean: those of `together` consecutive planes, or, if it
/// is 0, those of a channel. Sums of gradients are per plane, or per channel.
struct ChannelShape {
  int64_t outer, channels, size, together;

  constexpr int64_t planes() const { return outer * channels; }
  constexpr bool per_plane() const { return together > 0; }
  constexpr int64_t groups() const { return per_plane() ? planes() / together : channels; }
  constexpr int64_t group_of(int64_t plane) const { return per_plane() ? plane / together : plane % channels; }
  /// Number of values of a group.
  constexpr int64_t values() const { return size * (per_plane() ? together : outer); }
  constexpr int64_t sums() const { return per_plane() ? planes() : channels; }
  constexpr int64_t group_of_sum(int64_t sum) const { return per_plane() ? sum / together : sum; }
};
