#pragma once

#include "../autograd/distributions.h"
#include "../autograd/tensor.h"

namespace tape::nn {
class Module;
}

/// Initialization of parameters. Each function fills an f32 or f64 tensor in place, even one that requires gradients,
/// records nothing on the tape, and returns the tensor, so that a parameter takes one line:
///
///     nn::Parameter weight{this, "weight", init::xavier_uniform_(empty({out, in}))};
///
/// Random values come from the init stream or from the given generator, one draw per element. Throws Error (dtype) for
/// other dtypes, Error (config) for settings out of range.
namespace tape::nn::init {

/// Number of inputs that each output of a weight depends on, and number of outputs that each input affects. For weight
/// [out, in, ...], fan in is in times the product of the remaining axes (the taps of a convolution) and fan out is out
/// times the same; for an embedding [V, C] they are C and V.
struct Fans {
  int64_t in;   ///< inputs per output
  int64_t out;  ///< outputs per input
};
/// Returns the fans of a weight of this shape. Throws Error (shape) for fewer than two axes.
Fans fans(const Shape& shape);

/// Fan that Kaiming initialization scales by.
enum class Fan { in, out };
/// Nonlinearity that follows a weight; gain() returns its factor.
enum class Nonlinearity { linear, sigmoid, tanh, relu, leaky_relu, selu };

/// Returns the factor on a weight that preserves the variance through the nonlinearity that follows: 1 for linear and
/// sigmoid, 5/3 for tanh, sqrt(2) for relu, sqrt(2 / (1 + negative_slope^2)) for leaky_relu, 3/4 for selu.
double gain(Nonlinearity nonlinearity, double negative_slope = 0.01);

Tensor constant_(Tensor x, double value);  ///< sets every value to `value`
Tensor zeros_(Tensor x);                   ///< sets every value to 0
Tensor ones_(Tensor x);                    ///< sets every value to 1
/// Uniform in [low, high).
Tensor uniform_(Tensor x, double low = 0, double high = 1, Generator& stream = generator(Stream::init));
/// Normal with this mean and standard deviation. Throws Error (config) unless both are finite and stddev >= 0.
Tensor normal_(Tensor x, double mean = 0, double stddev = 1, Generator& stream = generator(Stream::init));

/// tape::truncated_normal (autograd/distributions.h).
Tensor truncated_normal_(Tensor x, const TruncatedNormalOptions& options = {},
                         Generator& stream = generator(Stream::init));

/// Uniform in [-a, a), a = gain sqrt(6 / (fan in + fan out)) (Glorot and Bengio 2010, "Understanding the difficulty of
/// training deep feedforward neural networks", equation 16).
Tensor xavier_uniform_(Tensor x, double gain = 1, Generator& stream = generator(Stream::init));
/// Normal with mean 0 and standard deviation gain sqrt(2 / (fan in + fan out)) (same paper, equation 12).
Tensor xavier_normal_(Tensor x, double gain = 1, Generator& stream = generator(Stream::init));

/// Options of kaiming_uniform_() and kaiming_normal_().
struct KaimingOptions {
  Fan fan = Fan::in;  ///< in preserves the variance of the activations, out that of the gradients
  Nonlinearity nonlinearity = Nonlinearity::relu;  ///< whose gain() is used
  double negative_slope = 0.01;                    ///< for leaky_relu
};
/// Uniform in [-a, a), a = gain sqrt(3 / fan) (He et al. 2015, "Delving deep into rectifiers", section 2.2).
Tensor kaiming_uniform_(Tensor x, const KaimingOptions& options = {}, Generator& stream = generator(Stream::init));
/// Normal with mean 0 and standard deviation gain / sqrt(fan) (same paper).
Tensor kaiming_normal_(Tensor x, const KaimingOptions& options = {}, Generator& stream = generator(Stream::init));

/// Initializes as BERT and GPT-2 do: every weight matrix and embedding table normal with mean 0 and the given standard
/// deviation, padding rows and biases zero, norms unchanged.
void start_normal(Module& module, double stddev = 0.02);

}  // namespace tape::nn::init
