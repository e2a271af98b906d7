#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../../base/non_copyable.h"
#include "../../base/temporary_file.h"
#include "../../text/corpus/token_file.h"
#include "../../text/tokenizers/tokenizer.h"
#include "../distributed/communicator.h"
#include "text_source.h"

namespace tape::train {

/// A document in a token store.
struct StoredDocument {
  int64_t begin = 0, end = 0;  ///< its token range
  int64_t learned = 0;         ///< index of its first target token; earlier ones are only read
};

/// A range of a token file on disk, read on demand.
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

/// Training and validation data of a language model, as tokens on disk.
struct TokenStore {
  StoredTokens train, valid;
  std::vector<StoredDocument> train_documents = {}, valid_documents = {};  ///< empty for texts without documents
  std::vector<std::string> notes = {};                                     ///< characters without a token
};

/// Tokenizes a text into a file, replacing it. Encodes on all threads with a bounded number of pieces in memory; each
/// document ends with the end token. Returns the documents and appends the characters without a token to the notes.
std::vector<StoredDocument> tokenize_to_file(const TextSource& from, const text::Tokenizer& tokenizer,
                                             const std::string& file, std::vector<std::string>& notes);

/// Tokenizes the texts once, piece by piece, into the folder `tokens` of a run: token files train.bin and valid.bin;
/// for documents also train.documents and valid.documents with the end of each; and tokens.json with what they were
/// made from and their checksums. Existing files made from the same inputs are reused. Every document ends with the
/// tokenizer's end token, if it has one. Token files given as input are not copied, only checked against the vocabulary
/// size.
///
/// Rank 0 does this; all ranks read what they need from the files, which must be visible to them. `folder` is the
/// run's;
/// "" makes a temporary one, which is removed with the store. `identity` is what the tokens depend on besides the
/// tokenizer itself and the library's version. Throws Error (config) for a token file that is too short to split;
/// (format) and (io) as the readers.
class TokenStoreFolder : NonCopyable {
 public:
  TokenStoreFolder(const std::string& folder, Communicator& ranks);

  TokenStore open(const TextSources& texts, const text::Tokenizer& tokenizer, const std::string& identity,
                  double valid_fraction) const;

 private:
  TokenStore open_token_files(const TextSources& texts, int64_t vocab_size, double valid_fraction) const;
  std::vector<std::string> make(const TextSources& texts, const text::Tokenizer& tokenizer,
                                const std::string& made_of) const;

  std::optional<ScratchFolder> temporary_;
  std::string run_, folder_;
  Communicator& ranks_;
};

/// Whether `tokens` in a run's folder has no files other than those written there (it may be empty).
bool holds_tokens_only(const std::string& folder);
/// Removes the files written there, and the folder `tokens` if it is empty then.
void remove_tokens(const std::string& folder);

}  // namespace tape::train
