"""Random tokenizer.json files, and texts for them."""

import base64
import json

LETTERS = list("abcdeABst") + ["é", "ß", "ſ", "K", "İ", "ı", "Σ", "ς", "ǅ", "ﬁ", "中", "한", "ᄒ", "ब", "١", "²", "½", "Ⅷ", "😀", "Ⓐ", "ª"]
SIGNS = list("_-.,'!#$1290<>|[]/@▁Ġ") + ["§", "«", "…", "\u203f", "\u2581", "\u00b7"]
SPACES = [" ", " ", " ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2028", "\u0085", "\u200b", "\u180e", "\x1c", "\v"]
MARKS = ["\u0301", "\u0323", "\u0308", "\u200d", "\u200c", "\ufe0f", "\u20dd", "\u0345", "\u093e", "\u1734", "\u00ad", "\u0000", "\ufffd", "\ufeff"]
WORDS = ["abc", "don't", "We'LL", "cab", "bad", "Straße", "STRASSE", "naïve", "中文", "हिन्दी", "한국", "a1b2", "12345", "x_y", "e.g.", "##b", "<s>",
         "</w>", "[UNK]", "<unk>", "<|x|>", "</s>", "<0x41>", "s", "ss", "SS", "foo", "tag", "K", "ﬃ", "ΟΔΟΣ", "ŉ", "ǰ"]  # fmt: skip


def character(draw):
    kind = draw.random()
    if kind < 0.45:
        return draw.choice(LETTERS)
    if kind < 0.65:
        return draw.choice(SIGNS)
    if kind < 0.82:
        return draw.choice(SPACES)
    if kind < 0.90:
        return draw.choice(MARKS)
    if kind < 0.96:
        return chr(draw.randrange(0x80, 0x3000))
    return chr(draw.choice([draw.randrange(0x3000, 0xD800), draw.randrange(0xE000, 0x1FFFF), draw.randrange(0x1C000, 0x20000)]))


def text(draw, pieces, most=14):
    """A few words, characters and pieces, which are tokens of the tokenizer."""
    out = ""
    for _ in range(draw.randrange(most)):
        kind = draw.random()
        if kind < 0.3 and pieces:
            out += draw.choice(pieces)
        elif kind < 0.5:
            out += draw.choice(WORDS)
        elif kind < 0.65:
            out += draw.choice(SPACES)
        else:
            out += character(draw)
    return out


# Regular expressions.


def class_item(draw, depth):
    kind = draw.random()
    if kind < 0.35:
        return draw.choice(["a", "b", "s", "S", "1", "_", r"\-", ".", "'", "é", "ß", "ſ", "K", " ", r"\n", r"\t", "中", r"\]", r"\x41", r"\x{e9}", r"\u00df", r"\.", "|"])
    if kind < 0.5:
        return draw.choice(["a-c", "A-Z", "0-9", "a-z", "à-ÿ", r"\x{4e00}-\x{9fff}", r"\r\n", " -/", "α-ω", "ﬀ-ﬆ"])
    if kind < 0.75:
        return shorthand(draw)
    if kind < 0.85:
        return draw.choice(["[:alpha:]", "[:^alpha:]", "[:digit:]", "[:space:]", "[:upper:]", "[:lower:]", "[:punct:]", "[:alnum:]", "[:word:]", "[:graph:]", "[:print:]", "[:cntrl:]", "[:blank:]", "[:xdigit:]", "[:ascii:]"])
    if kind < 0.93 and depth < 2:
        return bracket(draw, depth + 1)
    return draw.choice(["&&", "a", r"\w&&[^c]"])


def bracket(draw, depth=0):
    return "[" + draw.choice(["", "", "^"]) + "".join(class_item(draw, depth) for _ in range(draw.randrange(1, 4))) + "]"


def shorthand(draw):
    names = "L Lu Ll Lt Lm Lo M Mn Mc N Nd Nl No P Pc Pd Ps Pe Pi Po S Sm Sc Sk So Z Zs C Cc Cf Cn Co Han Latin Greek Cyrillic Hiragana Hangul Arabic Devanagari Thai Letter Uppercase_Letter Alphabetic Any Emoji alpha White_Space".split()
    if draw.random() < 0.5:
        return draw.choice([r"\w", r"\W", r"\s", r"\S", r"\d", r"\D", r"\h", r"\H"])
    return r"\%s{%s%s}" % (draw.choice("pppP"), draw.choice(["", "", "", "^"]), draw.choice(names))


def atom(draw, depth):
    kind = draw.random()
    if kind < 0.3:
        return draw.choice(["a", "b", "c", "s", "S", "ss", "é", "ß", "ﬁ", "ſ", "K", "1", " ", "'", "-", r"\.", "_", "中", r"\n", r"\r", r"\t", r"\x41", r"\x{1F600}", r"\u00e9", "▁", r"\/", "\u0301"])
    if kind < 0.5:
        return shorthand(draw)
    if kind < 0.66:
        return bracket(draw)
    if kind < 0.7:
        return "."
    if kind < 0.76:
        return draw.choice(["^", "$", r"\b", r"\B", r"\A", r"\z", r"\Z", r"\G", r"\R", r"\X", r"\N", r"\O", r"\y"] + [r"\b"] * 6)
    if depth > 2:
        return "a"
    inner = expression(draw, depth + 1)
    return draw.choice(["(%s)", "(?:%s)", "(?:%s)", "(?i:%s)", "(?i)%s", "(?>%s)", "(?=%s)", "(?!%s)", "(?<=%s)", "(?<!%s)", "(?m:%s)", "(?<n>%s)", "(?i-m:%s)", "(?x: %s )", r"(%s)\1", "(?#c)%s", "(?~%s)", "(?-i:%s)"]) % inner


def expression(draw, depth=0):
    branches = []
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        branch = ""
        for _ in range(draw.choice([1, 1, 2, 2, 3])):
            branch += atom(draw, depth)
            if draw.random() < 0.4:
                branch += draw.choice(["*", "+", "?", "+?", "*?", "??", "++", "?+", "*+", "{2}", "{1,3}", "{,2}", "{1,}", "{1,2}?", "{1,2}+", "{2}?", "{a}"])
        branches.append(branch)
    return "|".join(branches)


REAL = [
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", r"\s+", r" {2,}", r"[0-9]", r" ?[^(\s|[.,!?…。，、।۔،])]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+", r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+", r"(?=(\d{3})+(?!\d))", r"\w+|[^\w\s]+", r"[\r\n]", r"\s?\p{L}+", r"\b", r"(?i)[\p{Lu}]+", r"\d{3}(?=(?:\d{3})*\b)",
]  # fmt: skip


def pattern(draw):
    if draw.random() < 0.35:
        return {"String": draw.choice([" ", " ", "a", "ab", "▁", "-", ".", "é", "  ", "</w>", "|", "\n", "'", "ss", "1", "a.", "#-~&", "中", ""])}
    return {"Regex": draw.choice(REAL) if draw.random() < 0.25 else expression(draw)}


# The parts of a file.


def content(draw):
    return draw.choice(["", "", " ", "▁", "a", "_", "é", "-x-", "  ", "ab", "\u0301", "中"])


def flag(draw):
    return draw.random() < 0.5


def normalizer(draw, depth=0):
    kind = draw.choice("NFC NFD NFKC NFKD Lowercase Lowercase StripAccents Strip Prepend Replace Replace Replace Nmt ByteLevel BertNormalizer BertNormalizer Sequence Sequence None None".split())
    if kind == "None":
        return None if depth == 0 else {"type": "Lowercase"}
    made = {"type": kind}
    if kind == "Sequence":
        made["normalizers"] = [normalizer(draw, 1) for _ in range(draw.randrange(4))] if depth == 0 else []
    elif kind == "Strip":
        made.update(strip_left=flag(draw), strip_right=flag(draw))
    elif kind == "Prepend":
        made["prepend"] = draw.choice(["▁", " ", "a", "ab", "é"])
    elif kind == "Replace":
        made.update(pattern=pattern(draw), content=content(draw))
    elif kind == "BertNormalizer":
        made.update(clean_text=flag(draw), handle_chinese_chars=flag(draw), strip_accents=draw.choice([None, True, False]), lowercase=flag(draw))
    return made


def metaspace(draw):
    made = {"type": "Metaspace", "replacement": draw.choice(["▁", "▁", "▁", "_", "a"]), "prepend_scheme": draw.choice(["always", "first", "never"])}
    if flag(draw):
        made["split"] = flag(draw)
    return made


def pre_tokenizer(draw, depth=0):
    kind = draw.choice("BertPreTokenizer ByteLevel ByteLevel Metaspace Metaspace Split Split Split Split Digits Punctuation Whitespace WhitespaceSplit CharDelimiterSplit FixedLength Sequence Sequence None None".split())
    if kind == "None":
        return None if depth == 0 else {"type": "Whitespace"}
    made = {"type": kind}
    behavior = draw.choice(["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"])
    if kind == "Sequence":
        made["pretokenizers"] = [pre_tokenizer(draw, 1) for _ in range(draw.randrange(4))] if depth == 0 else []
    elif kind == "ByteLevel":
        made.update(add_prefix_space=flag(draw), trim_offsets=flag(draw), use_regex=flag(draw))
    elif kind == "Metaspace":
        return metaspace(draw)
    elif kind == "Split":
        made.update(pattern=pattern(draw), behavior=behavior, invert=flag(draw))
    elif kind == "Digits":
        made["individual_digits"] = flag(draw)
    elif kind == "Punctuation":
        made["behavior"] = behavior
    elif kind == "CharDelimiterSplit":
        made["delimiter"] = draw.choice([" ", "a", "-", "é", "▁"])
    elif kind == "FixedLength":
        made["length"] = draw.randrange(1, 6)
    return made


def post_processor(draw, tokens, depth=0):
    kind = draw.choice("TemplateProcessing TemplateProcessing BertProcessing RobertaProcessing ByteLevel Sequence None None".split())
    if kind == "None":
        return None if depth == 0 else {"type": "ByteLevel", "add_prefix_space": flag(draw), "trim_offsets": flag(draw), "use_regex": True}
    made = {"type": kind}
    named = lambda: (lambda i: [tokens[i], i])(draw.randrange(len(tokens)))  # noqa: E731
    if kind == "Sequence":
        made["processors"] = [post_processor(draw, tokens, 1) for _ in range(draw.randrange(1, 3))] if depth == 0 else []
        if sum(step["type"] == "TemplateProcessing" for step in made["processors"]) > 1:  # they cannot be chained
            made["processors"].pop()
    elif kind == "BertProcessing":
        made.update(sep=named(), cls=named())
    elif kind == "RobertaProcessing":
        made.update(sep=named(), cls=named(), trim_offsets=flag(draw), add_prefix_space=flag(draw))
    elif kind == "ByteLevel":
        made.update(add_prefix_space=flag(draw), trim_offsets=flag(draw), use_regex=flag(draw))
    elif kind == "TemplateProcessing":
        specials = {}

        def special():
            token, i = named()
            specials[token] = {"id": token, "ids": [i], "tokens": [token]}
            return {"SpecialToken": {"id": token, "type_id": draw.randrange(2)}}

        def template(*names):
            out = [{"Sequence": {"id": name, "type_id": draw.randrange(2)}} for name in names]
            for _ in range(draw.randrange(3)):
                out.insert(draw.randrange(len(out) + 1), special())
            return out

        made.update(single=template("A"), pair=template("A", "B"))
        made["special_tokens"] = specials
    return made


def decoder(draw, depth=0):
    kind = draw.choice("ByteLevel WordPiece Metaspace BPEDecoder CTC ByteFallback ByteFallback Fuse Replace Replace Strip Sequence Sequence Sequence None".split())
    if kind == "None":
        return None if depth == 0 else {"type": "Fuse"}
    made = {"type": kind}
    if kind == "Sequence":
        made["decoders"] = [decoder(draw, 1) for _ in range(draw.randrange(4))] if depth == 0 else []
    elif kind == "WordPiece":
        made.update(prefix=draw.choice(["##", "##", "a", ""]), cleanup=flag(draw))
    elif kind == "Metaspace":
        return metaspace(draw)
    elif kind == "BPEDecoder":
        made["suffix"] = draw.choice(["</w>", "</w>", "a"])
    elif kind == "CTC":
        made.update(pad_token=draw.choice(["<pad>", "a", "<s>"]), word_delimiter_token=draw.choice(["|", "▁"]), cleanup=flag(draw))
    elif kind == "Replace":
        made.update(pattern=pattern(draw), content=content(draw))
    elif kind == "Strip":
        made.update(content=draw.choice([" ", "▁", "a"]), start=draw.randrange(3), stop=draw.randrange(3))
    return made


BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def byte_alphabet():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return [chr(c) for c in plain] + [chr(256 + i) for i in range(len(others))]


def vocabulary(draw, alphabet, prefix=""):
    tokens = [draw.choice(["[UNK]", "<unk>"])]
    tokens += alphabet + [prefix + c for c in alphabet if prefix]
    for _ in range(draw.randrange(40)):
        token = "".join(draw.choice(alphabet) for _ in range(draw.randrange(2, 5)))
        tokens.append(prefix + token if flag(draw) else token)
    tokens += [draw.choice(WORDS) for _ in range(draw.randrange(10))]
    return list(dict.fromkeys(tokens))


def bpe(draw, alphabet):
    prefix, suffix = draw.choice([("", "")] * 4 + [("##", ""), ("", "</w>"), ("@", "</w>")])
    starts = alphabet + [c + suffix for c in alphabet if suffix]
    inner = [prefix + c for c in alphabet if prefix] + [prefix + c + suffix for c in alphabet if prefix and suffix]
    tokens = dict.fromkeys([draw.choice(["[UNK]", "<unk>"])] + starts + inner)
    merges = {}
    for _ in range(draw.randrange(60)):
        left = draw.choice([t for t in tokens if not suffix or not t.endswith(suffix)][1:] or starts)
        right = draw.choice([t for t in tokens if not prefix or t.startswith(prefix)][1:] or starts)
        both = left + (right[len(prefix) :] if prefix and right.startswith(prefix) else right)
        if " " in left + right or len(both) > 24:
            continue
        merges[left, right] = None
        tokens[both] = None
    if flag(draw):
        tokens.update(dict.fromkeys(BYTES if draw.random() < 0.7 else draw.sample(BYTES, 200)))
    tokens = list(tokens)
    made = {"type": "BPE", "dropout": None, "unk_token": draw.choice([None, tokens[0]]), "continuing_subword_prefix": prefix or None, "end_of_word_suffix": suffix or None,
            "fuse_unk": flag(draw), "byte_fallback": flag(draw), "ignore_merges": draw.random() < 0.3}  # fmt: skip
    made["vocab"] = {token: i for i, token in enumerate(tokens)}
    made["merges"] = [list(pair) for pair in merges] if flag(draw) else [" ".join(pair) for pair in merges]
    return made, tokens


def model(draw):
    alphabet = list(dict.fromkeys(draw.sample(LETTERS, 20) + draw.sample(SIGNS, 16) + ["▁", "Ġ", " "] * flag(draw) + [character(draw) for _ in range(8)]))
    if draw.random() < 0.4:
        alphabet = byte_alphabet() if flag(draw) else alphabet + byte_alphabet()[:200]
        alphabet = list(dict.fromkeys(alphabet))
    kind = draw.choice(["BPE", "BPE", "WordPiece", "Unigram", "WordLevel"])
    if kind == "BPE":
        return bpe(draw, alphabet)
    tokens = vocabulary(draw, alphabet, "##" if kind == "WordPiece" and flag(draw) else "")
    if kind == "Unigram":
        if flag(draw):
            tokens = list(dict.fromkeys(tokens + (BYTES if draw.random() < 0.7 else draw.sample(BYTES, 200))))
        scores = [round(-draw.random() * 9 - 1, 3) for _ in tokens]
        return {"type": "Unigram", "unk_id": 0, "vocab": [list(pair) for pair in zip(tokens, scores)], "byte_fallback": flag(draw)}, tokens
    made = {"type": kind, "unk_token": tokens[0], "vocab": {token: i for i, token in enumerate(tokens)}}
    if kind == "WordPiece":
        made.update(continuing_subword_prefix=draw.choice(["##", "##", "", "a"]), max_input_chars_per_word=draw.choice([100, 4, 1]))
    return made, tokens


def added_tokens(draw, tokens):
    """Some tokens of the vocabulary and some new ones, whose ids follow it."""
    out, names = [], set()
    for _ in range(draw.choice([0, 0, 1, 2, 3, 5])):
        kind = draw.random()
        if kind < 0.3:
            name = draw.choice(tokens)
        elif kind < 0.6:
            name = draw.choice(WORDS)
        elif kind < 0.8:
            name = draw.choice(["<s>", "</s>", "<pad>", "<|user|>", "<|end|>", "[MASK]", "  hi", " hi", "hi ", "tag", "Tag", "É", "e\u0301", "\n", " ", "  ", "a a", "ﬁ", "١"])
        else:
            name = text(draw, tokens, 4)
        if not name or name in names:
            continue
        names.add(name)
        special = flag(draw)
        out.append({"id": 0, "content": name, "single_word": draw.random() < 0.3, "lstrip": draw.random() < 0.35, "rstrip": draw.random() < 0.35,
                    "normalized": draw.random() < 0.4, "special": special})  # fmt: skip
    known = {token: i for i, token in enumerate(tokens)}
    for one in out:
        one["id"] = known.setdefault(one["content"], len(known))
    return sorted(out, key=lambda one: one["id"]), list(known)


def pipeline(draw):
    """A tokenizer.json and its tokens."""
    made, tokens = model(draw)
    added, tokens = added_tokens(draw, tokens)
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": normalizer(draw), "pre_tokenizer": pre_tokenizer(draw),
            "post_processor": post_processor(draw, tokens), "decoder": decoder(draw), "model": made}, tokens  # fmt: skip
