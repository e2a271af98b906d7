// The printed tree of modules.

#include <gmock/gmock.h>
#include <sstream>

#include "autograd/create.h"
#include "models/encoder_decoders/transformer.h"
#include "nn/module/print.h"
#include "nn/transformer/encoder.h"

namespace tape::nn {
namespace {

TEST(Print, ShowsALeaf) {
  Linear layer(1000, 2000, {.bias = false});
  EXPECT_EQ(to_string(layer), "Linear(1000 -> 2000, no bias)  2,000,000\n2,000,000 parameters");
  layer.freeze();
  EXPECT_EQ(to_string(layer),
            "Linear(1000 -> 2000, no bias)  2,000,000\n2,000,000 parameters, 2,000,000 of them frozen");
}

TEST(Print, FoldsEqualLayers) {
  Encoder encoder(3, {.d_model = 8, .heads = 2, .d_ff = 16, .norm = NormPlace::pre});
  encoder.layers[0]->norm1->freeze();
  std::stringstream text;
  text << encoder;
  EXPECT_EQ(text.str(),
            "Encoder(                                                            1,816\n"
            "  (layers.0-2): 3 x EncoderLayer(                                 3 x 600\n"
            "    (self_attention): MultiHeadAttention(8, 2 heads, dropout 0.1      288\n"
            "      (query): Linear(8 -> 8)                                          72\n"
            "      (key): Linear(8 -> 8)                                            72\n"
            "      (value): Linear(8 -> 8)                                          72\n"
            "      (output): Linear(8 -> 8)                                         72\n"
            "    )\n"
            "    (feed_forward): FeedForward(                                      280\n"
            "      (linear1): Linear(8 -> 16)                                      144\n"
            "      (activation): Activation(relu)\n"
            "      (dropout): Dropout(0.1)\n"
            "      (linear2): Linear(16 -> 8)                                      136\n"
            "    )\n"
            "    (norm1): LayerNorm(8, eps 1e-05)                                   16\n"
            "    (norm2): LayerNorm(8, eps 1e-05)                                   16\n"
            "    (dropout): Dropout(0.1)\n"
            "  )\n"
            "  (norm): LayerNorm(8, eps 1e-05)                                      16\n"
            ")\n"
            "1,816 parameters, 16 of them frozen");
}

TEST(Print, ShowsDifferentLayersSeparately) {
  struct Stack : Module {
    Children<Linear> layers{this, "layers"};
    Child<Dropout> last{this, "last", 0.5};
    Stack() {
      for (int64_t width : {2, 2, 3, 2}) layers.emplace_back(width, width);
    }
  };
  EXPECT_EQ(to_string(Stack()),
            "Stack(                                 30\n"
            "  (last): Dropout(0.5)\n"  // constructed before the layers
            "  (layers.0-1): 2 x Linear(2 -> 2)  2 x 6\n"
            "  (layers.2): Linear(3 -> 3)           12\n"
            "  (layers.3): Linear(2 -> 2)            6\n"
            ")\n"
            "30 parameters");
}

TEST(Print, ShowsATransformer) {
  models::Transformer model(
      {.src_vocab = 7, .tgt_vocab = 9, .d_model = 4, .layers = 1, .heads = 2, .d_ff = 6, .max_length = 10});
  EXPECT_EQ(to_string(model),
            "Transformer(7 -> 9 words, width 4                                    505\n"
            "  (src_embedding): Embedding(7 x 4, padding 0)                        28\n"
            "  (tgt_embedding): Embedding(9 x 4, padding 0)                        36\n"
            "  (positions): PositionalEncoding(4, at most 10 positions)\n"
            "  (dropout): Dropout(0.1)\n"
            "  (encoder): Encoder(                                                154\n"
            "    (layers.0): EncoderLayer(                                        154\n"
            "      (self_attention): MultiHeadAttention(4, 2 heads, dropout 0.1    80\n"
            "        (query): Linear(4 -> 4)                                       20\n"
            "        (key): Linear(4 -> 4)                                         20\n"
            "        (value): Linear(4 -> 4)                                       20\n"
            "        (output): Linear(4 -> 4)                                      20\n"
            "      )\n"
            "      (feed_forward): FeedForward(                                    58\n"
            "        (linear1): Linear(4 -> 6)                                     30\n"
            "        (activation): Activation(relu)\n"
            "        (dropout): Dropout(0.1)\n"
            "        (linear2): Linear(6 -> 4)                                     28\n"
            "      )\n"
            "      (norm1): LayerNorm(4, eps 1e-05)                                 8\n"
            "      (norm2): LayerNorm(4, eps 1e-05)                                 8\n"
            "      (dropout): Dropout(0.1)\n"
            "    )\n"
            "  )\n"
            "  (decoder): Decoder(                                                242\n"
            "    (layers.0): DecoderLayer(                                        242\n"
            "      (self_attention): MultiHeadAttention(4, 2 heads, dropout 0.1    80\n"
            "        (query): Linear(4 -> 4)                                       20\n"
            "        (key): Linear(4 -> 4)                                         20\n"
            "        (value): Linear(4 -> 4)                                       20\n"
            "        (output): Linear(4 -> 4)                                      20\n"
            "      )\n"
            "      (cross_attention): MultiHeadAttention(4, 2 heads, dropout 0.1   80\n"
            "        (query): Linear(4 -> 4)                                       20\n"
            "        (key): Linear(4 -> 4)                                         20\n"
            "        (value): Linear(4 -> 4)                                       20\n"
            "        (output): Linear(4 -> 4)                                      20\n"
            "      )\n"
            "      (feed_forward): FeedForward(                                    58\n"
            "        (linear1): Linear(4 -> 6)                                     30\n"
            "        (activation): Activation(relu)\n"
            "        (dropout): Dropout(0.1)\n"
            "        (linear2): Linear(6 -> 4)                                     28\n"
            "      )\n"
            "      (norm1): LayerNorm(4, eps 1e-05)                                 8\n"
            "      (norm2): LayerNorm(4, eps 1e-05)                                 8\n"
            "      (norm3): LayerNorm(4, eps 1e-05)                                 8\n"
            "      (dropout): Dropout(0.1)\n"
            "    )\n"
            "  )\n"
            "  (output): Linear(4 -> 9)                                            45\n"
            ")\n"
            "505 parameters");
}

TEST(Print, ShowsOutputShapesForGivenInputs) {
  Encoder encoder(3, {.d_model = 8, .heads = 2, .d_ff = 16, .norm = NormPlace::pre});
  const Tensor x = zeros({2, 5, 8}).requires_grad_(true);
  const std::string text = summary(encoder, x);
  EXPECT_EQ(text,
            "Encoder(                                                            1,816  [2, 5, 8]\n"
            "  (layers.0-2): 3 x EncoderLayer(                                 3 x 600  [2, 5, 8]\n"
            "    (self_attention): MultiHeadAttention(8, 2 heads, dropout 0.1      288  [2, 5, 8]\n"
            "      (query): Linear(8 -> 8)                                          72  [2, 5, 8]\n"
            "      (key): Linear(8 -> 8)                                            72  [2, 5, 8]\n"
            "      (value): Linear(8 -> 8)                                          72  [2, 5, 8]\n"
            "      (output): Linear(8 -> 8)                                         72  [2, 5, 8]\n"
            "    )\n"
            "    (feed_forward): FeedForward(                                      280  [2, 5, 8]\n"
            "      (linear1): Linear(8 -> 16)                                      144  [2, 5, 16]\n"
            "      (activation): Activation(relu)                                       [2, 5, 16]\n"
            "      (dropout): Dropout(0.1)                                              [2, 5, 16]\n"
            "      (linear2): Linear(16 -> 8)                                      136  [2, 5, 8]\n"
            "    )\n"
            "    (norm1): LayerNorm(8, eps 1e-05)                                   16  [2, 5, 8]\n"
            "    (norm2): LayerNorm(8, eps 1e-05)                                   16  [2, 5, 8]\n"
            "    (dropout): Dropout(0.1)                                                [2, 5, 8]\n"
            "  )\n"
            "  (norm): LayerNorm(8, eps 1e-05)                                      16  [2, 5, 8]\n"
            ")\n"
            "1,816 parameters");
  EXPECT_EQ(to_string(encoder).find("[2, 5, 8]"), std::string::npos) << "nothing is kept";
}

TEST(Print, OmitsNamespacesFromTypeNames) {
  EXPECT_EQ(Linear(1, 1).type_name(), "Linear");
  struct Local : Module {};
  EXPECT_EQ(Local().type_name(), "Local");
}

}  // namespace
}  // namespace tape::nn
