#pragma once

#include "../../nn/transformer/heads.h"
#include "../../text/corpus.h"
#include "../doctor/doctor.h"
#include "../init/adapter_training.h"
#include "../trainer/trainer.h"
#include "task.h"

namespace tape::train {

struct TextEmbeddingOptions {
  TaskOptions run;                                 ///< presets: small from scratch; fine-tune with init
  std::string data;                                ///< pairs of texts to learn from
  std::string valid = {};                          ///< pairs to validate with; "": some of `data`
  std::optional<double> valid_fraction = {};       ///< how many those are (0.1); not with `valid`
  std::optional<text::RecordFormat> records = {};  ///< of both files, in place of lines `anchor TAB positive`
  text::PairFields fields = {.source = "anchor", .target = "positive"};  ///< of records
  std::optional<int64_t> batch = {};                                     ///< pairs a batch, at least 2
  std::optional<int64_t> batch_tokens = {};  ///< most tokens of a batch besides on either side, padding included
  std::optional<int64_t> max_length = {};    ///< tokens of a text, longer ones are cut; at most the model's positions
  std::optional<nn::Pooling> pooling = {};   ///< the mean from scratch; with init as 1_Pooling says, else the mean
  double temperature = 0.05;                 ///< cosines are divided by it
  bool symmetric = false;                    ///< each text of a pair must find the other, in place of the second alone

  std::string init = {};                         ///< folder of an encoder to begin with; "": from scratch
  std::optional<int64_t> freeze = {};            ///< hold the embeddings and so many layers of init still
  std::optional<AdapterTraining> adapters = {};  ///< trained in place of the encoder of init

  // Of a model from scratch.
  std::optional<int64_t> vocab_size = {};  ///< tokens of a byte-level BPE learned from the texts
  std::optional<int64_t> layers = {}, width = {}, heads = {};
};

struct TextEmbeddingResult {
  TrainResult run;
  double valid_loss = 0;    ///< mean over the pairs
  double valid_recall = 0;  ///< at 1, see below; 0 to 1
};

/// Learns vectors of texts whose cosines say how alike they are, from pairs that belong together: an encoder and
/// pooling, and the contrastive loss within a batch, info_nce(): each first text must find its partner among the second
/// texts of the batch (Henderson et al. 2017, 4.4; MultipleNegativesRankingLoss of sentence-transformers, whose scale
/// is 1 / temperature; MultipleNegativesSymmetricRankingLoss with `symmetric`). The larger the batch, the harder.
/// AdamW, and a rate that rises over a tenth of the steps and falls linearly to 0. Several ranks compare within each
/// rank's share of a batch.
///
/// Each epoch is validated: the loss of batches in the order of the file, and recall at 1, the share of first texts
/// whose nearest second text of all of validation is their partner, or the same text.
///
/// The run's folder becomes an encoder's without pooler, with tokenizer and what sentence-transformers reads beside
/// (modules.json, 1_Pooling/config.json, ...), of the weights with the best recall, of equal ones those with the least
/// loss. Checkpoints hold the encoder and the tokenizer alone. No memory_limit, which cuts batches.
///
/// What is skipped or cut is told on `out` and counted. Error (config) for options that make no sense, an empty file
/// and fewer than two pairs; (format) naming file and line; (io); (numeric) where the loss or a gradient is not finite.
TextEmbeddingResult train_text_embedding(const TextEmbeddingOptions& options, std::ostream& out,
                                         const TerminalInfo& terminal);

/// Whether that set-up can learn one batch by heart.
Diagnosis examine_text_embedding(const TextEmbeddingOptions& options, std::ostream& out);

}  // namespace tape::train
