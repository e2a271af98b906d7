#include <fmt/format.h>

#include "bindings.h"

namespace tape::python {
namespace {

using nb::arg;
using text::EncodeOptions;
using text::Encoding;
using text::Side;
using text::Tokenizer;
using text::Truncation;

using Texts = std::vector<std::string>;

/// Tokens may split characters: bytes that are not UTF-8 become U+FFFD.
nb::object string_of(const std::string& bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

/// Rows of equal length as a tensor [B, T].
Tensor rows_tensor(const std::vector<Encoding>& encodings, std::vector<int64_t> Encoding::*member) {
  std::vector<int64_t> values;
  for (const Encoding& one : encodings) {
    if (one.size() != encodings.front().size())
      raise(ErrorKind::shape, "tokenizer: texts have {} and {} tokens; tensors need padding", encodings.front().size(),
            one.size());
    values.insert(values.end(), (one.*member).begin(), (one.*member).end());
  }
  const int64_t rows = std::ssize(encodings);
  return from_vector(values, {rows, rows == 0 ? 0 : static_cast<int64_t>(encodings.front().size())});
}

Encoding encoding_of(const Tokenizer& self, const std::string& text, const std::optional<std::string>& pair,
                     const EncodeOptions& options) {
  return pair ? self.encode_pair(text, *pair, options) : self.encode(text, options);
}

/// Defines a function whose last arguments are the fields of EncodeOptions.
template <class F, class... Extra>
void define_encode(nb::class_<Tokenizer>& type, const char* name, F function, const char* doc, const Extra&... extra) {
  type.def(name, function, extra..., nb::kw_only(), arg("add_special_tokens") = true, arg("max_length") = 0,
           arg("truncation") = Truncation::longest_first, arg("truncation_side") = Side::right, release, doc);
}

void bind_encoding(nb::class_<Tokenizer>& type) {
  define_encode(
      type, "encode",
      [](const Tokenizer& self, const std::string& text, const std::optional<std::string>& pair, bool special,
         int64_t max_length, Truncation truncation, Side side) {
        return encoding_of(self, text, pair, {special, max_length, truncation, side}).ids;
      },
      "The ids of a text, or of a pair of texts, with the special tokens around them.\n\n"
      "`max_length` limits the number of tokens, 0 does not; `truncation` chooses which text of a pair is shortened, "
      "at "
      "`truncation_side`.",
      arg("text"), arg("pair").none() = nb::none());
  define_encode(
      type, "encoding",
      [](const Tokenizer& self, const std::string& text, const std::optional<std::string>& pair, bool special,
         int64_t max_length, Truncation truncation, Side side) {
        return encoding_of(self, text, pair, {special, max_length, truncation, side});
      },
      "What encode() returns the ids of: also segments, byte offsets into the text, and which tokens were added.",
      arg("text"), arg("pair").none() = nb::none());
  type.def(
      "encode_batch",
      [](const Tokenizer& self, const Texts& texts, const std::optional<Texts>& pairs, bool special, int64_t max_length,
         Truncation truncation, Side truncation_side, text::Padding padding, int64_t length, int64_t multiple_of,
         Side padding_side) {
        const EncodeOptions options{special, max_length, truncation, truncation_side};
        const text::PadOptions pad{padding, length, multiple_of, padding_side};
        const std::vector<Encoding> found =
            pairs ? self.encode_pair_batch(texts, *pairs, options, pad) : self.encode_batch(texts, options, pad);
        return std::map<std::string, Tensor>{{"input_ids", rows_tensor(found, &Encoding::ids)},
                                             {"attention_mask", rows_tensor(found, &Encoding::attention_mask)},
                                             {"token_type_ids", rows_tensor(found, &Encoding::type_ids)}};
      },
      arg("texts"), arg("pairs").none() = nb::none(), nb::kw_only(), arg("add_special_tokens") = true,
      arg("max_length") = 0, arg("truncation") = Truncation::longest_first, arg("truncation_side") = Side::right,
      arg("padding") = text::Padding::longest, arg("length") = 0, arg("multiple_of") = 1,
      arg("padding_side") = Side::right, release,
      "Several texts, or pairs, padded to the longest, as tensors [B, T] (i64): input_ids, attention_mask (0 at "
      "padding)\n"
      "and token_type_ids. `padding` 'fixed' pads to `length`. Error (config) if the tokenizer has no padding token "
      "but "
      "needs one.");
}

void bind_decoding(nb::class_<Tokenizer>& type) {
  type.def(
      "decode",
      [](const Tokenizer& self, const std::vector<int64_t>& ids, bool skip_special_tokens) {
        return string_of(self.decode(ids, skip_special_tokens));
      },
      arg("ids"), nb::kw_only(), arg("skip_special_tokens") = true,
      "The text of ids [T]. Bytes that are not UTF-8 become U+FFFD. Error (index) for an id outside the vocabulary.");
  type.def(
      "decode",
      [](const Tokenizer& self, const Tensor& ids, bool skip_special_tokens) {
        if (ids.rank() != 1) raise(ErrorKind::shape, "decode: ids {} must be [T]", to_string(ids.shape()));
        return string_of(self.decode(ids.to(cpu).to_vector<int64_t>(), skip_special_tokens));
      },
      arg("ids"), nb::kw_only(), arg("skip_special_tokens") = true, "The text of ids, a tensor [T] (i64).");
  type.def(
      "token", [](const Tokenizer& self, int64_t id) { return string_of(self.token(id)); }, arg("id"),
      "The token with an id, as in the vocabulary: '##ing', 'Ġthe', '▁the'. Error (index).");
  type.def(
      "tokens", [](const Tokenizer& self, const std::vector<int64_t>& ids) { return self.tokens(ids); }, arg("ids"),
      "The tokens with these ids.");
  type.def("find", &Tokenizer::find, arg("token"), "The id of a token, None if it is not in the vocabulary.");
  type.def("is_special", &Tokenizer::is_special, arg("id"), "Whether decode() omits a token.");
}

void bind_special_tokens(nb::class_<Tokenizer>& type) {
  using Special = text::SpecialTokens;
  const auto define = [&type](const char* name, int64_t Special::*member, const char* what) {
    type.def_prop_ro(
        name,
        [member](const Tokenizer& self) {
          const int64_t id = self.special().*member;
          return id < 0 ? std::nullopt : std::optional(id);
        },
        what);
  };
  define("pad_id", &Special::pad, "Id of the padding token; None if there is none.");
  define("unk_id", &Special::unk, "Id of the unknown token; None if there is none.");
  define("cls_id", &Special::cls, "Id of the token that starts an encoder's text; None if there is none.");
  define("sep_id", &Special::sep, "Id of the separator of two texts; None if there is none.");
  define("mask_id", &Special::mask, "Id of the mask token; None if there is none.");
  define("bos_id", &Special::bos, "Id of the token that starts a text; None if there is none.");
  define("eos_id", &Special::eos, "Id of the token that ends a text; None if there is none.");
}

void bind_chat(nb::module_& m) {
  nb::class_<text::ChatTemplate>(m, "ChatTemplate",
                                 "Formats a conversation as the text that a chat model was trained on: templates "
                                 "'chatml', 'gemma', 'llama2', 'llama3',\n"
                                 "'llama3.1', 'mistral', 'qwen3' and 'zephyr'.")
      .def(
          "__init__",
          [](text::ChatTemplate* self, const std::string& name, const std::string& bos, const std::string& eos) {
            new (self) text::ChatTemplate(name, bos, eos);
          },
          arg("name"), nb::kw_only(), arg("bos") = "<s>", arg("eos") = "</s>")
      .def_static("load", &text::ChatTemplate::load, arg("folder"),
                  "Recognizes the template of a model's folder. Error (format) if there is none or it is unknown.")
      .def_prop_ro("name", &text::ChatTemplate::name, "The template's name.")
      .def(
          "apply",
          [](const text::ChatTemplate& self, const std::vector<std::map<std::string, std::string>>& messages,
             bool add_generation_prompt, text::Thinking thinking) {
            std::vector<text::ChatMessage> given;
            for (const auto& message : messages) {
              for (const auto& [key, value] : message)
                if (key != "role" && key != "content")
                  raise(ErrorKind::config, "chat: a message has role and content, not \"{}\"", key);
              if (!message.contains("role") || !message.contains("content"))
                raise(ErrorKind::config, "chat: a message needs role and content");
              given.push_back({message.at("role"), message.at("content")});
            }
            return self.apply(given, add_generation_prompt, thinking);
          },
          arg("messages"), nb::kw_only(), arg("add_generation_prompt") = true,
          arg("thinking") = text::Thinking::allowed,
          "The text of messages {'role': ..., 'content': ...}, to be encoded without special tokens.");
}

}  // namespace

void bind_tokenizer(nb::module_& m) {
  nb::class_<Tokenizer> type(m, "Tokenizer", "Converts texts to ids and back.");
  bind_encoding(type);
  bind_decoding(type);
  bind_special_tokens(type);
  type.def_prop_ro("vocab_size", &Tokenizer::vocab_size, "Ids are 0 to vocab_size - 1.");
  type.def("__len__", &Tokenizer::vocab_size);
  type.def_prop_ro("target", &Tokenizer::target, nb::rv_policy::reference_internal,
                   "Tokenizer of the target language; the tokenizer itself unless a translation model's sides differ.");
  type.def_prop_ro("language", &Tokenizer::language, "Token of its language, if it has several.");
  type.def("save", &Tokenizer::save, arg("folder"), release,
           "Writes the files that load_tokenizer() and transformers read.");
  type.def("explain", &Tokenizer::explain, arg("text"), "Explains step by step how a text is split: lines to print.");
  type.def("__repr__", [](nb::handle self) {
    return fmt::format("{}({} tokens)", nb::cast<std::string>(self.type().attr("__name__")),
                       nb::cast<const Tokenizer&>(self).vocab_size());
  });
  nb::class_<text::StreamDecoder>(m, "StreamDecoder",
                                  "Decodes tokens one by one: whole characters only, since one may span several "
                                  "tokens. `before`: tokens already shown.")
      .def(nb::init<const Tokenizer&, std::vector<int64_t>>(), arg("tokenizer"), arg("before") = std::vector<int64_t>{},
           nb::keep_alive<1, 2>())
      .def("push", &text::StreamDecoder::push, arg("id"), "The text that is complete after this token, possibly ''.")
      .def("finish", &text::StreamDecoder::finish, "The text that was still incomplete.");
  bind_chat(m);
}

}  // namespace tape::python
