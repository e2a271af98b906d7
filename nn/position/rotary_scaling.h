#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tape::nn {

// Extensions of rotary position embedding (rotary.h) to texts longer than in training, called rope_parameters or
// rope_scaling in transformers. w_i = theta^(-2i/R) are the unscaled frequencies, s is the factor, L0 the text length
// in training (original_max_position_embeddings).

/// w_i / s: interpolates positions (Chen et al. 2023, "Extending context window of large language models via positional
/// interpolation", section 3.2).
struct LinearScaling {
  double factor = 1;                                      ///< s > 0
  bool operator==(const LinearScaling&) const = default;  ///< compares every field
};

/// Replaces theta by theta (s L / L0 - (s - 1))^(R / (R - 2)), where L is the length so far (the last position of the
/// call + 1), at least L0: "NTK-aware" scaling (bloc97 and emozilla 2023; Peng et al. 2023, "YaRN", section 3.3 and
/// appendix B.1). L0 is the model's max_position_embeddings. Keys in a cache keep the rotation they were written with.
struct DynamicScaling {
  double factor = 1;                                       ///< s > 0
  int64_t original_length = 0;                             ///< L0, at least 1: must be set
  bool operator==(const DynamicScaling&) const = default;  ///< compares every field
};

/// Scales by the wavelength l = 2 pi / w_i: w_i if l < L0 / high, w_i / s if l > L0 / low, and between them
/// (1 - m) w_i / s + m w_i with m = (L0 / l - low) / (high - low) (Llama 3.1; Grattafiori et al. 2024, and its code).
struct Llama3Scaling {
  double factor = 8;                                      ///< s > 0
  double low_freq_factor = 1;                             ///< low > 0
  double high_freq_factor = 4;                            ///< high > low
  int64_t original_length = 8192;                         ///< L0, at least 1
  bool operator==(const Llama3Scaling&) const = default;  ///< compares every field
};

/// (1 - r_i) w_i + r_i w_i / s with a ramp r_i = clamp((i - low) / (high - low), 0, 1) between the pairs that rotate
/// beta_fast and beta_slow times within L0: pair(b) = R ln(L0 / (2 pi b)) / (2 ln theta), low = floor(pair(beta_fast))
/// but at least 0, high = ceil(pair(beta_slow)) but at most R - 1. Cosines and sines are multiplied by the attention
/// factor (Peng et al. 2023, "YaRN", sections 3.2 and 3.4).
struct YarnScaling {
  double factor = 1;            ///< s > 0
  int64_t original_length = 0;  ///< L0, at least 1: must be set
  double beta_fast = 32;        ///< pairs that rotate more often within L0 are not scaled
  double beta_slow = 1;         ///< pairs that rotate less often within L0 are divided by s; in (0, beta_fast]
  /// Factor on cosines and sines. Default: m(s, 1), or m(s, mscale) / m(s, mscale_all_dim) if both are given and not 0,
  /// with m(s, a) = 0.1 a ln(s) + 1 for s > 1, otherwise 1.
  std::optional<double> attention_factor = {};
  std::optional<double> mscale = {};          ///< numerator of the default attention_factor
  std::optional<double> mscale_all_dim = {};  ///< its denominator
  bool truncate = true;                       ///< applies floor and ceil; if false, the ramp may end between pairs
  bool operator==(const YarnScaling&) const = default;  ///< compares every field
};

/// One of the scalings, or none (std::monostate).
using RotaryScaling = std::variant<std::monostate, LinearScaling, DynamicScaling, Llama3Scaling, YarnScaling>;

/// Frequencies of rotary embedding: pair i rotates by position times inverse(...)[i].
struct RotaryFrequencies {
  double theta = 10000;                                       ///< base of the unscaled frequencies
  int64_t rotary_dim = 0;                                     ///< R
  RotaryScaling scaling = {};                                 ///< none by default
  bool operator==(const RotaryFrequencies&) const = default;  ///< compares every field

  /// Throws Error (config) for invalid factors, lengths and bases.
  void check() const;
  /// Returns [R/2]; `length` is the text length so far, which dynamic scaling uses.
  std::vector<double> inverse(int64_t length) const;
  /// Returns the factor on cosines and sines: 1 except in YaRN.
  double attention_factor() const;
};

/// Returns "", "linear scaling by 2", "llama3 scaling by 8", ...
std::string to_string(const RotaryScaling& scaling);

}  // namespace tape::nn
