#pragma once

namespace tape {

/// Standard normal CDF, accurate to the last digits also far in the lower tail.
double normal_cdf(double z);
/// Standard normal quantile (inverse CDF), 0 < p < 1, to about 16 digits: algorithm AS 241, PPND16 (Wichura 1988).
double normal_quantile(double p);

}  // namespace tape
