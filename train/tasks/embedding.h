#pragma once

#include "../../nn/transformer/heads.h"
#include "../../text/corpus/corpus.h"
#include "../doctor/doctor.h"
#include "../init/adapter_training.h"
#include "../trainer/trainer.h"
#include "task.h"

namespace tape::train {

/// Options of train_text_embedding() and examine_text_embedding().
struct TextEmbeddingOptions {
  TaskOptions run;                                 ///< presets: small from scratch; fine-tune with init
  std::string data;                                ///< training file with pairs of texts
  std::string valid = {};                          ///< validation file; "": a part of `data`
  std::optional<double> valid_fraction = {};       ///< fraction of the pairs for that (0.1); not with `valid`
  std::optional<text::RecordFormat> records = {};  ///< format of both files if not lines `anchor TAB positive`
  text::PairFields fields = {.source = "anchor", .target = "positive"};  ///< fields of the records
  std::optional<int64_t> batch = {};                                     ///< pairs per batch, at least 2 per rank
  std::optional<int64_t> batch_tokens = {};  ///< also at most this many tokens per batch and side, including padding
  std::optional<int64_t> max_length = {};    ///< tokens per text, longer ones are cut; at most the model's positions
  std::optional<nn::Pooling> pooling = {};   ///< default: that of 1_Pooling with init if it has one, otherwise mean
  double temperature = 0.05;                 ///< divides the cosines
  bool symmetric = false;                    ///< match in both directions, instead of only from first to second texts

  std::string init = {};                         ///< folder of an encoder to start from; "": from scratch
  std::optional<int64_t> freeze = {};            ///< freeze the embeddings and this many layers of init
  std::optional<AdapterTraining> adapters = {};  ///< train these instead of the encoder of init

  // For a model from scratch.
  std::optional<int64_t> vocab_size = {};  ///< tokens of a byte-level BPE trained on the texts
  std::optional<int64_t> layers = {},      ///< number of encoder layers (2)
      width = {},                          ///< width of the hidden states, a multiple of heads (128)
      heads = {};                          ///< attention heads per layer (4)
};

/// Result of train_text_embedding().
struct TextEmbeddingResult {
  TrainResult run;          ///< result of the training loop
  double valid_loss = 0;    ///< mean over the pairs
  double valid_recall = 0;  ///< recall at 1, see below; 0 to 1
};

/// Trains sentence embeddings, whose cosines measure similarity, from matching pairs of texts: an encoder and pooling
/// with the in-batch contrastive loss info_nce(), by which each first text must find its partner among the second texts
/// of the batch (Henderson et al. 2017, 4.4; MultipleNegativesRankingLoss of sentence-transformers, whose scale is 1 /
/// temperature; MultipleNegativesSymmetricRankingLoss with `symmetric`). Larger batches are harder. Uses AdamW and a
/// learning rate that rises over a tenth of the steps and falls linearly to 0. With several ranks, pairs are compared
/// within each rank's share of a batch.
///
/// Validation after each epoch measures the loss of batches in file order, and recall at 1: the share of first texts
/// whose nearest second text in all of validation is their partner, or the same text.
///
/// The run's folder becomes an encoder model without pooler, with tokenizer and the files that sentence-transformers
/// needs (modules.json, 1_Pooling/config.json, ...), with the weights of the best recall, ties broken by the lower
/// loss. Checkpoints contain only the encoder and the tokenizer. memory_limit, which splits batches, is not supported.
///
/// Prints on `out`, with counts, what is skipped or cut. Throws Error (config) for invalid options, an empty file or
/// fewer than two pairs; (format) naming file and line; (io); (numeric) if the loss or a gradient is not finite.
TextEmbeddingResult train_text_embedding(const TextEmbeddingOptions& options, std::ostream& out,
                                         const TerminalInfo& terminal);

/// Whether this setup can overfit one batch.
Diagnosis examine_text_embedding(const TextEmbeddingOptions& options, std::ostream& out);

}  // namespace tape::train
