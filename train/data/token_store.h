#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../../text/token_file.h"
#include "../../text/tokenizer.h"
#include "../distributed/communicator.h"
#include "learned_text.h"

namespace tape::train {

/// A document among stored tokens.
struct StoredDocument {
  int64_t begin = 0, end = 0;  ///< its tokens
  int64_t learned = 0;         ///< the first of them that is learned, not only read
};

/// Tokens of a file on disk, of which what is asked for is read.
class StoredTokens {
 public:
  StoredTokens() = default;
  StoredTokens(std::shared_ptr<const text::TokenFile> file, int64_t first, int64_t size)
      : file_(std::move(file)), first_(first), size_(size) {}

  int64_t size() const { return size_; }
  std::vector<int64_t> read(int64_t first, int64_t count) const { return file_->read(first_ + first, count); }

 private:
  std::shared_ptr<const text::TokenFile> file_;
  int64_t first_ = 0, size_ = 0;
};

/// What a language model learns from and is validated with, as tokens on disk.
struct TokenStore {
  StoredTokens train, valid;
  std::vector<StoredDocument> train_documents = {}, valid_documents = {};  ///< of files of documents
  std::vector<std::string> notes = {};                                     ///< what the tokenizer has no token for
};

/// Replaces a token file by the tokens of a text, a few pieces of which are in memory, encoded by all threads; of
/// documents each with its end. Gives the documents, and appends what the tokenizer has no token for to the notes.
std::vector<StoredDocument> tokenize_to_file(const LearnedText& from, const text::Tokenizer& tokenizer,
                                             const std::string& file, std::vector<std::string>& notes);

/// Tokenizes the texts once, piece by piece, into the folder `tokens` of a run: train.bin and valid.bin, files of
/// tokens; where there are documents train.documents and valid.documents, which say where each ends; and tokens.json,
/// which says of what all of it was made, and the checksums. What lies there and is made of the same is taken as it is.
/// Every document ends with the tokenizer's end token, where it has one. Files of tokens are not copied, but checked to
/// be of the vocabulary.
///
/// Of several ranks the first does so; all read what they need of the files, which they must see. `folder` is the
/// run's; "" makes a temporary one, which is gone with the store. `identity` is what the tokens depend on besides the
/// tokenizer's own. Error (config) for a text of tokens that cannot be cut; (format) and (io) as the readers.
class TokenStoreFolder {
 public:
  TokenStoreFolder(const std::string& folder, Communicator& ranks);
  ~TokenStoreFolder();
  TokenStoreFolder(const TokenStoreFolder&) = delete;
  TokenStoreFolder& operator=(const TokenStoreFolder&) = delete;

  TokenStore open(const LearnedTexts& texts, const text::Tokenizer& tokenizer, const std::string& identity,
                  double valid_fraction) const;

 private:
  TokenStore open_token_files(const LearnedTexts& texts, int64_t vocab_size, double valid_fraction) const;
  std::vector<std::string> make(const LearnedTexts& texts, const text::Tokenizer& tokenizer,
                                const std::string& made_of) const;

  std::string run_, folder_;
  Communicator& ranks_;
  bool temporary_;
};

/// Whether `tokens` in a run's folder holds nothing but what is written there (it may hold nothing).
bool holds_tokens_only(const std::string& folder);
/// Removes what is written there, and the folder `tokens` where nothing else is in it.
void remove_tokens(const std::string& folder);

}  // namespace tape::train
