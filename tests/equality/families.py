"""tokenizer.json in the form of current model families: each family's published normalizer, pre-tokenizer, post-processor
and decoder with a small model that the package tokenizers trains. The families' vocabularies are not used."""

import json

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = GPT4.replace("{1,3}", "")
GPT4O = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])  # fmt: skip
BLOOM = " ?[^(\\s|[.,!?…。，、।۔،])]+"
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""]  # fmt: skip
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
P, N, D = pre_tokenizers, normalizers, decoders
BYTES = P.ByteLevel(add_prefix_space=False, use_regex=False)


def split(pattern, behavior="isolated", invert=False):
    return P.Split(Regex(pattern), behavior, invert)


def bpe(lines, size, *, special, pre, normalizer=None, byte_level=True, decoder=None, settings=None, **training):
    backend = Tokenizer(models.BPE(**(settings or {})))
    if normalizer is not None:
        backend.normalizer = normalizer
    backend.pre_tokenizer = pre
    if decoder is not None or byte_level:
        backend.decoder = decoder or D.ByteLevel()
    alphabet = {"initial_alphabet": P.ByteLevel.alphabet()} if byte_level else {}
    backend.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=special, **alphabet, **training))  # fmt: skip
    return backend


def edited(backend, change):
    content = json.loads(backend.to_str())
    change(content)
    return Tokenizer.from_str(json.dumps(content))


def around(backend, single, pair, names):
    backend.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=[(n, backend.token_to_id(n)) for n in names])  # fmt: skip


def llama3(lines, size):
    backend = bpe(lines, size, special=["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"], pre=P.Sequence([split(GPT4), BYTES]))
    begin = processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
                                          special_tokens=[("<|begin_of_text|>", backend.token_to_id("<|begin_of_text|>"))])  # fmt: skip
    backend.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), begin])
    return edited(backend, lambda c: c["model"].update(ignore_merges=True))


def qwen(lines, size):
    return bpe(lines, size, special=["<|endoftext|>", "<|im_start|>", "<|im_end|>"], pre=P.Sequence([split(QWEN), BYTES]), normalizer=N.NFC())


def gpt4o(lines, size):
    return bpe(lines, size, special=["<|endoftext|>"], pre=P.Sequence([split(GPT4O), BYTES]))


def deepseek(lines, size):
    return bpe(lines, size, special=["<｜begin▁of▁sentence｜>"], pre=P.Sequence([*map(split, DEEPSEEK), BYTES]), normalizer=N.Sequence([]))


def bloom(lines, size):
    return bpe(lines, size, special=["<unk>", "<s>", "</s>", "<pad>"], pre=P.Sequence([split(BLOOM), BYTES]))


def falcon(lines, size):
    pre = P.Sequence([P.Punctuation("contiguous"), P.ByteLevel(add_prefix_space=False), P.Digits(individual_digits=False), split("[0-9][0-9][0-9]")])
    return bpe(lines, size, special=["<|endoftext|>"], pre=pre)


def smollm2(lines, size):
    return bpe(lines, size, special=["<|endoftext|>", "<|im_start|>"], pre=P.Sequence([P.Digits(individual_digits=True), P.ByteLevel(add_prefix_space=False)]))  # fmt: skip


def gpt_neox(lines, size):
    """Also ModernBERT and OLMo: NFC, and runs of spaces as added tokens."""
    backend = bpe(lines, size, special=["<|endoftext|>", "<|padding|>", "[CLS]", "[SEP]"], pre=P.ByteLevel(add_prefix_space=False), normalizer=N.NFC())
    backend.add_tokens([AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)])
    around(backend, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ["[CLS]", "[SEP]"])
    return backend


def bart(lines, size):
    backend = bpe(lines, size, special=["<s>", "<pad>", "</s>", "<unk>"], pre=P.ByteLevel(add_prefix_space=False))
    backend.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return backend


def clip(lines, size):
    backend = bpe(lines, size, special=["<|startoftext|>", "<|endoftext|>"], pre=P.Sequence([split(CLIP, "removed", True), P.ByteLevel(add_prefix_space=False)]),
                  normalizer=N.Sequence([N.NFC(), N.Replace(Regex(r"\s+"), " "), N.Lowercase()]), settings={"unk_token": "<|endoftext|>"},
                  end_of_word_suffix="</w>")  # fmt: skip
    backend.post_processor = processors.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0), trim_offsets=False, add_prefix_space=False)
    return backend


def gemma(lines, size):
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    backend = bpe(lines, size, special=["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>", *bytes_], byte_level=False,
                  pre=P.Split(" ", "merged_with_previous"), normalizer=N.Replace(" ", "▁"), settings={"unk_token": "<unk>", "byte_fallback": True, "fuse_unk": True},
                  decoder=D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse()]), limit_alphabet=120)  # fmt: skip

    def plain_bytes(content):
        content["added_tokens"] = [token for token in content["added_tokens"] if not token["content"].startswith("<0x")]

    backend = edited(backend, plain_bytes)
    around(backend, "<bos> $A", "<bos> $A <bos>:1 $B:1", ["<bos>"])
    return backend


def llama2(lines, size):
    """Also Mistral before Tekken."""
    backend = gemma(lines, size)

    def change(content):
        prepend = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}
        strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
        content.update(normalizer=prepend, pre_tokenizer=None)
        content["decoder"]["decoders"].append(strip)

    return edited(backend, change)


def mistral(lines, size):
    backend = gemma(lines, size)
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    return edited(backend, lambda content: content.update(normalizer=None, pre_tokenizer=metaspace))


def unigram(lines, size, special, unk, pre, normalizer, **settings):
    backend = Tokenizer(models.Unigram())
    backend.normalizer, backend.pre_tokenizer, backend.decoder = normalizer, pre, D.Metaspace()
    backend.train_from_iterator(lines, trainers.UnigramTrainer(vocab_size=size, show_progress=False, special_tokens=special, unk_token=unk, **settings))
    return backend


def deberta_v3(lines, size):
    backend = unigram(lines, size, ["[PAD]", "[CLS]", "[SEP]", "[UNK]"], "[UNK]", P.Sequence([P.Punctuation(), P.Metaspace()]),
                      N.Sequence([N.Strip(), N.NFKC(), N.Replace(Regex(" {2,}"), " ")]))  # fmt: skip
    around(backend, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ["[CLS]", "[SEP]"])
    return backend


def albert(lines, size):
    backend = unigram(lines, size, ["<pad>", "<unk>", "[CLS]", "[SEP]"], "<unk>", P.Metaspace(prepend_scheme="always"),
                      N.Sequence([N.Replace("``", '"'), N.Replace("''", '"'), N.NFKD(), N.StripAccents(), N.Lowercase(), N.Nmt(), N.Replace(Regex(" {2,}"), " ")]))  # fmt: skip
    backend.add_special_tokens([AddedToken("[MASK]", lstrip=True)])
    around(backend, "[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", ["[CLS]", "[SEP]"])
    return backend


def t5(lines, size):
    backend = unigram(lines, size, ["<pad>", "</s>", "<unk>"], "<unk>", P.Sequence([P.WhitespaceSplit(), P.Metaspace()]), N.NFKC())
    backend.add_special_tokens([AddedToken(f"<extra_id_{i}>") for i in range(100)])
    around(backend, "$A </s>", "$A </s> $B </s>", ["</s>"])
    return backend


def mpnet(lines, size):
    """Also DistilBERT: BERT's parts, with MPNet's names and template."""
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer, backend.pre_tokenizer, backend.decoder = N.BertNormalizer(), P.BertPreTokenizer(), D.WordPiece()
    backend.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=size, show_progress=False, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>"]))  # fmt: skip
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return backend


def words(lines, size):
    backend = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    backend.normalizer, backend.pre_tokenizer = N.Sequence([N.NFD(), N.Lowercase(), N.StripAccents(), N.Strip()]), P.Whitespace()
    backend.train_from_iterator(lines, trainers.WordLevelTrainer(vocab_size=size, show_progress=False, special_tokens=["[UNK]", "[PAD]"]))
    return backend


def subwords(lines, size):
    """Other features: prefixes inside words, a one-character delimiter, bytes in the normalizer."""
    return bpe(lines, size, special=["[UNK]"], byte_level=False, pre=P.Sequence([P.CharDelimiterSplit("-"), P.WhitespaceSplit(), P.FixedLength(length=12)]),
               settings={"unk_token": "[UNK]"}, continuing_subword_prefix="@@", limit_alphabet=150, decoder=D.BPEDecoder(suffix="</w>"))  # fmt: skip


def normalized_bytes(lines, size):
    return bpe(lines, size, special=["[UNK]"], normalizer=N.ByteLevel(), pre=split(r"(?<=[^Ġ])Ġ|\d", "merged_with_next"))


def ctc(lines, size):
    backend = words(lines, size)
    backend.decoder = D.CTC(pad_token="[PAD]", word_delimiter_token="the", cleanup=True)
    return backend


FAMILIES = {kind.__name__: kind for kind in (llama3, qwen, gpt4o, deepseek, bloom, falcon, smollm2, gpt_neox, bart, clip, gemma, llama2, mistral,
                                             deberta_v3, albert, t5, mpnet, words, subwords, normalized_bytes, ctc)}  # fmt: skip
