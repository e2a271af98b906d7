#pragma once

namespace tape {

/// The share of a standard normal distribution below z, exact to the last digits also far down the lower tail.
double normal_below(double z);
/// The z with normal_below(z) = p, 0 < p < 1: Wichura 1988, algorithm AS 241, PPND16 (about 16 digits).
double normal_quantile(double p);

}  // namespace tape
