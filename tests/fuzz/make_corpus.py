#!/usr/bin/env python3
"""Writes the seed inputs of each fuzzing target, corpus/TARGET/*: valid files, and malformed ones of every kind that the
readers reject. Inputs found by fuzzing are in the same folders and are not touched. Needs only Python."""
import json
import math
import pathlib
import struct

HERE = pathlib.Path(__file__).parent
FIXTURES = HERE.parent / "fixtures"


def write(target, name, *parts):
    """Writes an input; parts are files of one folder."""
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    raw = [p.encode() if isinstance(p, str) else p for p in parts]
    (folder / name).write_bytes(b"\n%%\n".join(raw))


def fixture(name):
    return (FIXTURES / name).read_bytes()


def header(tensors, metadata=None):
    """The JSON of a safetensors header; tensors: name, dtype, shape, bytes each."""
    entries, at = ({"__metadata__": metadata} if metadata else {}), 0
    for name, dtype, shape, size in tensors:
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    return json.dumps(entries).encode(), at


def safetensors(tensors, metadata=None):
    """tensors: name, dtype, shape, bytes."""
    text, _ = header([(n, d, s, len(b)) for n, d, s, b in tensors], metadata)
    return struct.pack("<Q", len(text)) + text + b"".join(b for *_, b in tensors)


def floats(count, value=0.5):
    return struct.pack(f"<{count}f", *[value] * count)


def make_safetensors():
    one = [("a", "F32", [2, 2], floats(4))]
    every = [("f64", "F64", [1], bytes(8)), ("f32", "F32", [2], floats(2)), ("i64", "I64", [], bytes(8)),
             ("f16", "F16", [3], bytes(6)), ("bf16", "BF16", [2], bytes(4)), ("i32", "I32", [1, 1], bytes(4)),
             ("u8", "U8", [0, 4], b""), ("bool", "BOOL", [2], b"\0\1")]
    write("safetensors", "one", safetensors(one))
    write("safetensors", "every_dtype", safetensors(every, {"format": "pt"}))
    write("safetensors", "empty_header", safetensors([]))
    write("safetensors", "bool_of_2", safetensors([("b", "BOOL", [1], b"\2")]))
    write("safetensors", "short", b"\0\0\0")
    write("safetensors", "length_beyond_file", struct.pack("<Q", 1 << 62) + b"{}")
    write("safetensors", "trailing_byte", safetensors(one) + b"x")
    write("safetensors", "data_cut", safetensors(one)[:-1])
    broken = {
        "twice": b'{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}',
        "overflow": b'{"a":{"dtype":"F32","shape":[4194305,4194305,211106198978564],"data_offsets":[0,16]}}',
        "negative": b'{"a":{"dtype":"F32","shape":[-1,4],"data_offsets":[0,16]}}',
        "fraction": b'{"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,16]}}',
        "huge_size": b'{"a":{"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,16]}}',
        "backwards": b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[16,0]}}',
        "hole": b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}',
        "overlap": b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[3],"data_offsets":[4,16]}}',
        "unknown_dtype": b'{"a":{"dtype":"F8_E4M3","shape":[16],"data_offsets":[0,16]}}',
        "nine_axes": b'{"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,4],"data_offsets":[0,16]}}',
        "metadata_number": b'{"__metadata__":{"a":1},"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}',
        "nested": b'{"a":' + b"[" * 70 + b"]" * 70 + b"}",
        "not_utf8": b'{"\xff":1}',
        "list": b"[1]",
    }
    for name, text in broken.items():
        write("safetensors_header", name, struct.pack("<H", 16) + text)
    text, size = header([(n, d, s, len(b)) for n, d, s, b in every], {"a": "b"})
    write("safetensors_header", "every_dtype", struct.pack("<H", size) + text + b"   ")


def npy(descr, shape, data, fortran=False, version=1, text=None):
    """A .npy file; `text` replaces its dictionary."""
    text = text or "{'descr': %r, 'fortran_order': %r, 'shape': %r, }" % (descr, fortran, shape)
    text = text.encode("latin-1") + b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + data


def npz(entries, compressed=False, comment=b""):
    """A .npz file, written by Python's zipfile; entries: name, bytes."""
    import io
    import zipfile
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        for name, data in entries:
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as file:  # as NumPy does
                file.write(data)
        archive.comment = comment
    return raw.getvalue()


def make_npy():
    every = {"f2": 2, "f4": 4, "f8": 8, "i1": 1, "i2": 2, "i4": 4, "i8": 8, "u1": 1, "u2": 2, "u4": 4, "u8": 8, "V2": 2}
    for name, size in every.items():
        for order in "<>":
            write("npy", name + ("_swapped" if order == ">" else ""), npy(order + name, (2, 3), bytes(range(6 * size))))
    write("npy", "b1", npy("|b1", (2,), b"\0\1"))
    write("npy", "fortran", npy("<i4", (2, 3), bytes(24), fortran=True))
    write("npy", "scalar_version_2", npy("<f8", (), bytes(8), version=2))
    write("npy", "empty_version_3", npy("<f4", (2, 0), b"", version=3))
    broken = {"object": npy("|O", (1,), b"cos\nsystem\n"), "complex": npy("<c8", (1,), bytes(8)),
              "records": npy([("a", "<f4")], (1,), bytes(4)), "bool_of_2": npy("|b1", (1,), b"\2"),
              "large_u8": npy("<u8", (1,), b"\xff" * 8), "short": npy("<f4", (2,), bytes(7)),
              "long": npy("<f4", (2,), bytes(9)), "overflow": npy("<f4", (4194305, 4194305, 211106198978564), bytes(16)),
              "overflow_bytes": npy("<f8", (1 << 61,), b""), "negative": npy("<f4", (-1,), bytes(4)),
              "nine_axes": npy("<f4", (1,) * 9, bytes(4)), "version_4": npy("<f4", (1,), bytes(4), version=4),
              "twice": npy("", (), bytes(4), text="{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}"),
              "missing": npy("", (), bytes(4), text="{'descr': '<f4', 'shape': ()}"),
              "call": npy("", (), bytes(4), text="{'descr': __import__('os'), 'fortran_order': False, 'shape': ()}"),
              "header_beyond": b"\x93NUMPY\1\0\xff\xff{}", "cut": b"\x93NUMP", "magic": b"PK\3\4" + bytes(20)}
    for name, content in broken.items():
        write("npy", name, content)


def make_npz():
    a, b = npy("<f4", (2, 2), floats(4)), npy("<i8", (3,), bytes(24))
    both = [("a.npy", a), ("folder/b.npy", b)]
    good = npz(both)
    write("npz", "stored", good)
    write("npz", "deflated", npz(both, compressed=True))
    write("npz", "nothing", npz([]))
    write("npz", "comment", npz(both, comment=b"PK\5\6 a comment"))
    write("npz", "zeros", npz([("zeros.npy", npy("<f4", (1000,), bytes(4000)))], compressed=True))
    write("npz", "no_array", npz([("a.txt", b"text")]))
    write("npz", "broken_array", npz([("a.npy", a[:-1])]))
    write("npz", "checksum", good.replace(floats(4), floats(4, 0.25)))
    write("npz", "cut", good[:-30])
    write("npz", "zip64", fixture("numpy/zip64.npz"))
    write("npz", "no_zip", b"\x93NUMPY")
    write("npz", "twice", npz([("a.npy", a), ("b.npy", a)]).replace(b"b.npy", b"a.npy"))
    packed = npz(both, compressed=True)
    at = packed.index(b"PK\1\2")
    write("npz", "bomb", packed[:at + 24] + struct.pack("<I", 1 << 30) + packed[at + 28:])
    write("npz", "encrypted", good[:good.index(b"PK\1\2") + 8] + b"\1" + good[good.index(b"PK\1\2") + 9:])
    write("npz", "method", good[:good.index(b"PK\1\2") + 10] + b"\x0c" + good[good.index(b"PK\1\2") + 11:])


def make_json():
    write("json", "values", '{"a": [1, -2, 3.5, 1e30, true, null, "\\u00e9\\ud83d\\ude00"], "b": {"c": {}}}')
    write("json", "twice", '{"a": {"b": 1, "b": 2}}')
    write("json", "deep", '{"a":' * 9 + "1" + "}" * 9)
    write("json", "lone_surrogate", '{"a": "\\ud800"}')
    write("json", "out_of_range", '{"a": 1e999}')
    write("json", "not_utf8", b'{"a": "\xff\xc3"}')
    write("json", "byte_order_mark", b'\xef\xbb\xbf{"a": 1}')
    write("json", "list", "[]")


def make_models():
    for name in ["bert", "bert_classifier", "bert_masked", "gpt2", "marian", "m2m100", "llama", "llama_biases", "mistral",
                 "qwen2", "qwen3", "gpt_neox", "bart", "mbart", "t5", "t5_gated", "mt5"]:
        write("model_config", name, fixture(f"hugging_face/{name}/config.json"))
        write("model_folder", name, fixture(f"hugging_face/{name}/config.json"),
              fixture(f"hugging_face/{name}/model.safetensors"))
    shards = "hugging_face/half_in_shards/"
    write("model_folder", "shards", fixture(shards + "config.json"), "", fixture(shards + "model.safetensors.index.json"),
          fixture(shards + "model-00001-of-00002.safetensors"), fixture(shards + "model-00002-of-00002.safetensors"))
    config = json.loads(fixture("hugging_face/bert/config.json"))
    for name, change in {
            "negative_width": {"hidden_size": -8}, "width_2_to_62": {"hidden_size": 2**62}, "width_null": {"hidden_size": None},
            "no_heads": {"num_attention_heads": 0}, "layers_1e300": {"num_hidden_layers": 1e300},
            "unknown_activation": {"hidden_act": "tanh?"}, "dropout_1.5": {"hidden_dropout_prob": 1.5},
            "vocabulary_1.9": {"vocab_size": 1.9}, "positions_2_to_62": {"max_position_embeddings": 2**62},
            "no_architecture": {"architectures": []}, "unknown_architecture": {"architectures": ["Unknown"]},
            "epsilon_text": {"layer_norm_eps": "small"}}.items():
        text = json.dumps({**config, **change})
        write("model_config", name, text)
        if name.endswith("2_to_62"):
            write("model_folder", name, text, fixture("hugging_face/bert/model.safetensors"))
    write("model_folder", "path_out_of_the_folder", json.dumps(config), "",
          '{"metadata": {}, "weight_map": {"a": "../../etc/passwd"}}')


TEXT = "The unknown wörds, 12 of them: <s> [MASK] 中文 \u0130 e\u0301.\r\n\t"


def make_tokenizers():
    for name in ["roberta_json", "unigram_json", "bert_json", "spm_bpe_json"]:
        write("tokenizer_json", name, fixture(f"tokenizers/{name}/tokenizer.json"), "", TEXT)
    for name in ["deepseek", "falcon", "clip", "normalized_bytes", "subwords", "ctc", "albert", "gemma"]:
        write("tokenizer_json", name, fixture(f"tokenizers/families/{name}/tokenizer.json"), "", TEXT)
    small = {"version": "1.0", "added_tokens": [
        {"id": 3, "content": "<s>", "single_word": False, "lstrip": True, "rstrip": True, "normalized": False, "special": True}],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}, {"type": "StripAccents"},
            {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}, {"type": "Prepend", "prepend": "▁"},
            {"type": "Strip", "strip_left": True, "strip_right": True}]},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}}], "pair": [{"Sequence": {"id": "A", "type_id": 0}},
            {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}}},
        "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True,
                  "vocab": {"<unk>": 0, "<0x41>": 1, "a": 2, "aa": 4, "▁": 5, "▁aa": 6}, "merges": ["a a", ["▁", "aa"]]}}
    write("tokenizer_json", "small_bpe", json.dumps(small), "", TEXT)
    unigram = dict(small, model={"type": "Unigram", "unk_id": 0, "byte_fallback": False,
                                 "vocab": [["<unk>", 0.0], ["a", -1.5], ["▁a", -2], ["<s>", 0]]})
    write("tokenizer_json", "small_unigram", json.dumps(unigram), "", TEXT)
    pieces = dict(small, normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                                     "strip_accents": None, "lowercase": True},
                  pre_tokenizer={"type": "BertPreTokenizer"}, decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
                  model={"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                         "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "un": 1, "##k": 2, "<s>": 3}})
    write("tokenizer_json", "small_word_piece", json.dumps(pieces), '{"cls_token": "<s>", "do_lower_case": true}', TEXT)
    for name, change in {
            "id_beyond": {"vocab": {"<unk>": 0, "a": 9}}, "id_twice": {"vocab": {"<unk>": 0, "a": 0}},
            "negative_id": {"vocab": {"<unk>": 0, "a": -1}}, "merge_of_unknown": {"merges": ["x y"]},
            "byte_minus_1": {"vocab": {"<unk>": 0, "<0x-1>": 1, "<0xZZ>": 2}}, "unknown_type": {"type": "Neural"},
            "merges_number": {"merges": 3}}.items():
        write("tokenizer_json", name, json.dumps(dict(small, model={**small["model"], **change})))

    for name, expression in {"classes": r"[^(\s|[.,!?&&[^!]])]+|\p{^Lu}{1,3}+", "options": r"x(?i)a|(?m:.)$|\b\w++(?<![\h])",
                             "hostile": "(a|aa)+$"}.items():  # fmt: skip
        step = {"type": "Split", "pattern": {"Regex": expression}, "behavior": "MergedWithNext", "invert": True}
        write("tokenizer_json", f"expression_{name}", json.dumps(dict(small, pre_tokenizer=step)), "", TEXT + 40 * "a" + "b")
    languages = [{"id": 7 + i, "content": name, "special": True} for i, name in enumerate(["eng_Latn", "deu_Latn", "</s>"])]
    write("tokenizer_json", "languages", json.dumps(dict(small, added_tokens=small["added_tokens"] + languages)),
          '{"tokenizer_class": "NllbTokenizer", "tgt_lang": "deu_Latn", "eos_token": "</s>"}', TEXT)

    write("byte_level_bpe", "gpt2", fixture("tokenizers/gpt2/vocab.json"), fixture("tokenizers/gpt2/merges.txt"), "", TEXT)
    vocab = {"a": 0, "b": 1, "ab": 2, "Ġ": 3, "Ġab": 4, "<|endoftext|>": 5}
    merges = "#version: 0.2\na b\nĠ ab\n"
    write("byte_level_bpe", "small", json.dumps(vocab), merges, '{"add_prefix_space": true}', "ab abba")
    write("byte_level_bpe", "merge_of_unknown", json.dumps(vocab), merges + "x y\n")
    write("byte_level_bpe", "merge_of_three", json.dumps(vocab), "a b c\n")
    write("byte_level_bpe", "merge_twice", json.dumps(vocab), "a b\na b\n")
    write("byte_level_bpe", "id_gap", '{"a": 0, "b": 7}', "")
    write("byte_level_bpe", "crlf", json.dumps(vocab), merges.replace("\n", "\r\n"))
    write("byte_level_bpe", "added_tokens", json.dumps(vocab), merges, json.dumps({"added_tokens_decoder": {
        "6": {"content": "<x>", "lstrip": True, "rstrip": True, "normalized": True, "single_word": True, "special": False},
        "7": {"content": "<y>", "special": True}}, "bos_token": {"content": "<y>"}, "tokenizer_class": "GPT2Tokenizer"}),
        " a <x> b<y>")

    write("word_piece", "bert", fixture("tokenizers/bert/vocab.txt"), "", "", "", TEXT)
    words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##known\nword\n##s\n,\n"
    write("word_piece", "small", words, '{"do_lower_case": false, "strip_accents": true, "tokenize_chinese_chars": false}',
          '{"unk_token": "[UNK]", "additional_special_tokens": ["<a>", {"content": "<b>"}]}', '{"<new>": 10}', "unknown words")
    write("word_piece", "twice", words + "un\n")
    write("word_piece", "empty_line", words + "\n\nx\n")
    write("word_piece", "no_unknown", "a\nb\n")
    write("word_piece", "empty", "")

    for name, file in {"unigram": "unigram/spiece.model", "bpe": "spm_bpe/tokenizer.model", "marian": "marian/source.spm",
                       "character_map": "nllb/sentencepiece.bpe.model"}.items():
        write("sentence_piece", name, fixture(f"tokenizers/{file}"))
    write("sentence_piece", "cut", fixture("tokenizers/marian/source.spm")[:-7])
    write("sentence_piece", "length_beyond", b"\x0a\xff\xff\xff\xff\x0f")
    write("sentence_piece", "number_without_end", b"\x08" + b"\xff" * 12)
    # The key "a" ends in a unit that is not an entry and whose value points past the strings.
    units = {ord("a"): ord("a") | 1 << 8 | 1 << 10, ord("a") ^ 1: 96}
    trie = struct.pack("<257I", 1024, *(units.get(i, 0) for i in range(256)))
    characters = b"\x12\x86\x08" + trie + b"b\0"  # 1,030 bytes
    write("sentence_piece", "key_without_entry", fixture("tokenizers/unigram/spiece.model") + b"\x1a\x89\x08" + characters)

    def folder(name, kind, *files):
        parts = [fixture(f"tokenizers/{name}/{f}") if f else b"" for f in files]
        write("tokenizer_folder", name, kind + parts[0], *parts[1:], TEXT)

    config, special, spm = "tokenizer_config.json", "special_tokens_map.json", "sentencepiece.bpe.model"
    folder("marian", b"m", "source.spm", "target.spm", "vocab.json", config)
    for name in ["xlm_roberta", "mbart", "mbart50"]:
        folder(name, b"f", spm, "", config, special)
    folder("m2m100", b"f", spm, "vocab.json", config, special)
    folder("unigram", b"s", "spiece.model", "")
    folder("t5", b"s", "spiece.model", config)


def make_training():
    checksum = "0000000000000000"
    entry = {"name": "a", "bytes": 11, "xxh3_64": checksum}
    write("manifest", "wrong_checksum", json.dumps({"format": 1, "files": [entry]}))
    write("manifest", "right", json.dumps({"format": 1, "files": [{**entry, "xxh3_64": "a161649fe7c292d2"},
          {"name": "b", "bytes": 0, "xxh3_64": "2d06800538d394c2"}]}))
    write("manifest", "newer", json.dumps({"format": 2, "files": []}))
    write("manifest", "path_out_of_the_folder", json.dumps({"format": 1, "files": [{**entry, "name": "../a"}]}))
    write("manifest", "no_file", json.dumps({"format": 1, "files": [{**entry, "name": "missing"}]}))
    write("manifest", "itself", json.dumps({"format": 1, "files": [{**entry, "name": "MANIFEST.json"}]}))
    write("manifest", "bytes_beyond", json.dumps({"format": 1, "files": [{**entry, "bytes": 2**64 - 1}]}))

    stream = {"seed": 2**64 - 1, "counter": 7}
    state = {"format": 1, "step": 20, "schedule_step": 20, "data": {"epoch": 1, "batch": 3},
             "random": {"init": stream, "dropout": stream, "shuffle": stream, "sampling": stream}, "accumulate": 1,
             "best": [{"step": 10, "score": 1.5}], "best_score": 1.5, "stale": 1, "evaluated_step": 20, "planned": [10, 20],
             "loss_average": 0.1, "seconds": 12.5, "tokens": 1000, "machine": {"version": "0.2.0", "kernels": "v3",
             "blas": "OpenBLAS", "blas_core": "Haswell", "products": "own", "threads": 2}, "settings": {"seed": 1}}
    write("trainer_state", "whole", json.dumps(state))
    for name, change in {
            "step_1e18": {"step": 10**18}, "step_minus_1": {"step": -1}, "negative_seconds": {"seconds": -1.0},
            "loss_null": {"loss_average": None}, "best_number": {"best": 3}, "planned_2_to_70": {"planned": [2**70]},
            "settings_number": {"settings": 3}, "accumulate_0": {"accumulate": 0}, "no_machine": {"machine": {}},
            "unknown_key": {"unknown": 1},
            "threads_beyond": {"machine": {**state["machine"], "threads": 33333333330}}}.items():
        write("trainer_state", name, json.dumps({**state, **change}))

    model = safetensors([("weight", "F32", [3, 2], floats(6)), ("bias", "F32", [3], floats(3))])
    def adam(step, value=0.25):
        return safetensors([("lr", "F64", [], struct.pack("<d", 1e-3))] + [(f"{i}.{k}", "F32", shape, floats(n, value)) for i, shape, n in ((0, [2, 3], 6), (1, [3], 3))
                            for k in "mv"] + [(f"{i}.step", "I64", [], struct.pack("<q", step)) for i in (0, 1)])
    write("checkpoint", "whole", json.dumps(state), model, adam(20), model)
    write("checkpoint", "no_average", json.dumps(state), model, adam(20))
    write("checkpoint", "infinity_in_adam", json.dumps(state), model, adam(20, float("inf")))
    write("checkpoint", "negative_square", json.dumps(state), model, adam(20, -1))
    write("checkpoint", "step_beyond", json.dumps(state), model, adam(2**60))

    lines = [{"event": "start", "time": "2026-01-01T00:00:00Z", "task": "mt", "parameters": 9, "machine": "m", "options": {"lr": 1},
              "model": "<b>"},
             {"event": "step", "step": 1, "epoch": 0.5, "loss": 2.5, "lr": 1e-3, "grad_norm": None, "tokens": 5,
              "tokens_per_second": 100.5, "seconds": 0.5},
             {"event": "step", "step": 2, "loss": 1.5}, {"event": "eval", "step": 2, "seconds": 1, "loss": 1.25,
              "metrics": {"bleu": 31.2, "chrf": None}, "weights": "average"},
             {"event": "samples", "step": 2, "samples": [{"input": "</script><script>", "reference": "\u2028", "output": "<!--"}]},
             {"event": "confusion", "step": 2, "labels": ["a", "b"], "counts": [[1, 2], [3, 4]]},
             {"event": "checkpoint", "step": 2, "folder": "checkpoint-2", "best": True}, {"event": "resume", "step": 1},
             {"event": "warning", "step": 1, "text": "careful"}, {"event": "step", "step": 2, "loss": 1},
             {"event": "step", "step": 7, "loss": 0.5}, {"event": "new", "step": 7},
             {"event": "end", "step": 7, "seconds": 9, "reason": "steps", "metrics": {"bleu": 30}}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    write("run_log", "whole", text)
    write("run_log", "cut", text[:-30])
    for name, line in {"step_backwards": '{"event":"step","step":-1}', "step_beyond": '{"event":"step","step":1e19}',
                       "no_event": "{}", "list": "[1]", "confusion_ragged": '{"event":"confusion","step":1,"labels":["a"],"counts":[[1,2]]}',
                       "nan": '{"event":"step","step":1,"loss":NaN}', "deep": '{"event":' + "[" * 30 + "]" * 30 + "}"}.items():
        write("run_log", name, text + line + "\n")

    file = {"file": "train.de", "bytes": 12, "xxh3_64": checksum}
    write("settings", "one_file", json.dumps({"seed": 1, "text": file}), json.dumps({"seed": 2, "text": {**file, "bytes": 13}}))
    write("settings", "missing", json.dumps({"seed": 1, "lr": None}), json.dumps({"seed": 1, "dropout": 0.1}))
    write("settings", "list", "[]", "{}")
    write("settings", "file_of_numbers", json.dumps({"a": {**file, "file": 1, "xxh3_64": 2}}), json.dumps({"a": {"b": file}}))


def make_texts():
    write("corpora", "lines", "one\ntwo\r\n\nthree")
    write("corpora", "byte_order_mark", b"\xef\xbb\xbfone\n")
    write("corpora", "utf16", "one\ntwo\n".encode("utf-16"))
    write("corpora", "utf16_without_a_mark", "one\ntwo\n".encode("utf-16-le"))
    write("corpora", "nul", b"a\0b\n\0\n")
    write("corpora", "broken", b"one\n\xff\xfe\xc3\n")
    write("corpora", "pairs", "ein Haus\ta house\n \tempty\nleer\t \n")
    write("corpora", "labelled", "sentence\tlabel\na fine film\t1\na bad one\t0\n")
    write("corpora", "trec", "DESC:manner How did serfdom develop ?\nENTY What films ?\n")
    write("corpora", "conll", "-DOCSTART- O\n\nAnna NNP B-PER\nsings VBZ O\n\nNew York\tx\tB-LOC\n")
    write("corpora", "three_fields", "a\tb\tc\n")
    for name, vocab, ids in [("narrow", 300, "<4H"), ("wide", 70000, "<4I")]:
        write("token_file", name, vocab.to_bytes(3, "little") + struct.pack(ids, 0, 1, 299, 256))
    write("token_file", "outside", b"\x02\0\0" + struct.pack("<3H", 0, 1, 2))
    write("token_file", "odd", b"\x02\0\0" + b"\0\0\1")
    write("token_file", "odd_wide", b"\0\0\2" + b"\0" * 6)
    write("token_file", "nothing", b"\x02\0\0")
    write("records", "jsonl", '{"text": "a\\nb", "label": 1}\n\n{"text": "", "label": true, "in": {"names": ["B", 2]}}\n')
    write("records", "pairs", '{"source": "ein Haus", "target": "a house"}\n{"source": " ", "target": "x"}\n')
    write("records", "csv", 'text,label\r\n"a, ""b""",1\r\n"two\r\nlines",0\r\n,1\r\n')
    write("records", "tsv", 'source\ttarget\tin.names\n"ein\tHaus"\ta house\tB O\n\nja\tyes\tO\n')
    write("records", "open_quote", 'text,label\n"a,1\nb,2\n')
    write("records", "bare_quote", 'text,label\na "b",1\n')
    write("records", "behind_the_quote", 'text\n"a"b\n')
    write("records", "one_field_more", "text\na,b\n")
    write("records", "column_twice", "text,text\n")
    write("records", "field_twice", '{"text": "a", "text": "b"}\n')
    write("records", "wrong_types", '{"text": 1, "label": 1.5, "in": {"names": [[]]}}\n')
    write("records", "list", "[1]\n")
    write("records", "deep", '{"a":' * 40 + "1" + "}" * 40)
    write("records", "nul_and_mark", b"\xef\xbb\xbftext,label\na\0b,1\n")
    for target in ["utf8", "text_encoding"]:
        write(target, "plain", "The quick brown fox, 12 times.\n")
        write(target, "scripts", "Größe Ελλάς Россия 中文 日本語 한국어 العربية हिन्दी")
        write(target, "emoji", "👩‍👩‍👧 🇩🇪 e\u0301 ＡＢＣ ﬁ \u0130\u03a3")
        write(target, "broken", b"a\xff\xc3(\xe2\x82\xed\xa0\x80\xf4\x90\x80\x80\xc0\xaf")
        write(target, "controls", b"\0\x1b[31m\x7f\xc2\x85\r\n\t\xe2\x80\xa8\xef\xbb\xbf\xef\xbf\xbe")
        write(target, "blanks", "  a   b\u00a0\u3000c\n\n  don't I'll 1234 !?\n")
    write("scores", "translations", "The cat sat, on 3.5 mats.", "A cat sat on the mat!")
    write("scores", "broken", b"\xff\xc3", "&quot; <skipped>")
    write("scores", "empty", "", "")
    for name, equation in {"product": "ij,jk->ik", "batch": "bhqd,bhkd->bhqk", "trace": "ii->", "diagonal": "ii->i",
                           "outer": "i,j->ij", "transposed": "ij->ji", "dots": "...ij,...jk->...ik", "implicit": "ij,jk",
                           "letter_from_nowhere": "ij->k", "twice_in_result": "ij->ii", "two_arrows": "i->i->i",
                           "sign": "i+j->", "three": "ab,bc,cd->ad"}.items():
        terms = equation.split("->")[0].replace("...", "e").split(",")
        sizes = b";".join(bytes(1 + ord(letter) % 3 for letter in term) for term in terms)
        write("einsum", name, equation.encode() + b"\n" + sizes)
    write("einsum", "sizes_that_differ", b"ij,jk->ik\n\2\3;\2\2")
    def step(kind, a=0, b=0, c=0, numbers=()):
        return bytes([kind + 6, a + 6, b + 6, c + 6, len(numbers)] + [n + 6 for n in numbers])

    write("shapes", "views", step(-6, numbers=[4, -1]) + step(0, 0, 1) + step(2, 0, 1, 5, [0, 0]) + step(-3, -1) + step(7))
    write("shapes", "spread", step(-1, numbers=[2, 0, 1]) + step(1, 1, -1) + step(-3, 0) + step(-2, numbers=[5, -1, -1]))
    write("shapes", "indices", step(3, 1, numbers=[0, 2, 2]) + step(-5, 0, -1) + step(3, 0, numbers=[9]) + step(6, 4, numbers=[1]))
    write("shapes", "far_out", bytes([8, 6, 200, 201, 1]) + bytes([7, 6, 200, 6, 0]) + bytes([4, 6, 6, 6, 2, 200, 202]))
    def along(operation, axis=0, a=0, b=0, numbers=()):
        return bytes([operation, axis + 6, a + 6, b + 6, len(numbers)] + [n + 6 for n in numbers])

    for operation in range(48):
        write("axes", f"operation_{operation}", along(operation, 1, 2, 1, [0, 1]) + along(operation, 0, 1, 2, [1, 0, 2]))
    nothing = along(46, 0, 0, 0)  # the first of two steps towards a long axis
    longest = along(45)[:4] + bytes([2, 6, 202])
    for operation in [0, 7, 9, 11, 15, 20, 33, 36, 44]:
        write("axes", f"beside_the_longest_{operation}", nothing + longest + along(operation, 1) + along(operation, 0))
    write("file_names", "plain", "model.safetensors")
    write("file_names", "unicode", "Größe 中文 👩‍👧")
    write("file_names", "broken", b"\xff\xc3\x1b[31m\n")
    write("file_names", "long", "x" * 300)
    write("file_names", "longest", "x" * 255)


def make_operations():
    def number(*all):
        return bytes(n + 6 for n in all)

    def value(*all):
        return bytes(int(v * 4) + 12 for v in all)

    def tensor(*sizes, values=(0.25, 0.5, 1.5, -0.25, 1, -0.5, 1.25)):
        return bytes([len(sizes), *sizes]) + value(*values)

    def ids(*sizes, values=(1, 0, 2, 1, 0)):
        return bytes([len(sizes), *sizes]) + number(*values)

    def size(n):
        return number(n) + bytes([0])  # the same for all axes

    nothing, no, yes = tensor(0), bytes([0]), bytes([1])
    convolution = size(1) + size(1) + size(1) + number(1) + no
    pooling = size(2) + size(2) + size(1)
    line, plane = tensor(2, 2, 5), tensor(1, 2, 4, 5)
    windows = [
        line + tensor(2, 2, 3) + nothing + convolution, line + tensor(2, 2, 3) + tensor(2) + convolution,
        plane + tensor(2, 2, 3, 2) + nothing + convolution, plane + tensor(4, 1, 1, 1) + tensor(4) + size(2) + size(0) + size(1) + number(2) + no,
        line + nothing * 2 + pooling + size(1) + yes, plane + nothing * 2 + pooling + size(1) + no,
        line + nothing * 2 + pooling + yes + no, plane + nothing * 2 + pooling + no + yes,
        line + nothing * 2 + size(3), plane + nothing * 2 + size(2),
        line + tensor(2, values=[1] * 7) * 2 + yes, tensor(2, 4, 3) + tensor(4) * 2 + number(2), line + tensor(5) * 2, line + tensor(5) + nothing,
    ]
    square, positive = tensor(2, 3, 3), tensor(3, values=[0.5] * 7)
    rows, some = tensor(4, 3), tensor(4, 3, values=(1, 0.5, 0.25, 0.75, 2, 0.5, 1.5))
    shares = tensor(4, 3, values=(0.5, 0.25, 0.75, 0.25, 0.5, 0.75, 0.25))
    losses = [
        rows + positive + nothing + ids(4) + number(-1) + value(0.25) + yes + no, rows + positive + nothing + ids(4) + number(2) + yes + no, rows + tensor(5, 3) + tensor(5) + ids(4) + yes + number(-1) + no + number(2),
        tensor(5, 2, 3, values=[-1] * 7) + nothing * 2 + ids(2, 2, values=[1, 2, 2, 1, 1]) + ids(2, values=[5, 4] * 2 + [5]) + ids(2, values=[2, 1] * 2 + [2]) + number(0) + no + yes,
        rows + some + nothing + no, rows + some + nothing + yes, rows + some + nothing + value(1), rows + some + nothing + value(1),
        rows + some + some + yes + value(0.25), shares + shares + nothing + no, rows + shares + positive + yes + no, rows + shares + nothing + no,
        rows + some + nothing + number(1) + value(0.25), rows + nothing * 2 + number(-1) + value(0.25),
        rows + some + tensor(4, values=[1, -1] * 3 + [1]) + value(0.25), rows + some + shares + value(1) + value(2) + yes, rows + some + nothing + value(0.5) + yes,
        tensor(5, 3) + nothing * 2 + ids(2, 2) + number(1), nothing * 3 + ids(2, 2) + number(3), rows + tensor(5, 3) + tensor(5),
    ]
    lower = tensor(2, 2, values=(2, 0, 1, 1, 2, 0, 1))
    matrices = [
        tensor(2, 2, values=(2, 0.5, 0.5, 1, 2, 0.5, 0.5)) + nothing * 2 + no, square + nothing * 2 + yes, tensor(4, 2) + nothing * 2 + no,
        tensor(2, 3, values=(1, 0.5, 2, -1, 0.25, 3, 1)) + nothing * 2, tensor(2, 2, values=(2, 0.5, 0.5, 1, 2, 0.5, 0.5)) + nothing * 2,
        tensor(3, 2) + nothing * 2 + no, tensor(3, 2) + nothing * 2, square + tensor(2, 3, 2) + nothing + yes,
        lower + tensor(2, 3) + nothing + no + yes + no, square + nothing * 2, tensor(3, 2) + nothing * 2 + value(0), tensor(4, 2) + tensor(4, 1) + nothing + value(0),
        square + nothing * 2, square + nothing * 2, square + nothing * 2, tensor(3, 4) + nothing * 2 + value(1) + number(-2, -1), square + nothing * 2 + number(3),
        square + nothing * 2, tensor(2, 2) + tensor(1, 3) + nothing, tensor(2, 3) * 2 + nothing + number(-1), tensor(3) + tensor(4) + nothing, square + tensor(3, 2) + nothing + no + no,
    ]
    # A call of attention: sizes, backends, options, masks.
    def attention(queries, keys, masks=(), kv=1, heads=2, sides=0, weights=0, options=(0, 0, 0, 0), width=3):
        sizes = [2, heads, kv - 1, queries, keys, width, 2]
        values = [14, 3, 21, 9, 17, 5, 11, 30, 2, 19, 13, 7, 25, 1, 16]
        gqa, scale, length, dropout = options
        options = ([] if kv > 1 else [gqa]) + ([1, scale] if scale else [0]) + ([1, length] if length else [0]) + [dropout, 0]
        return bytes([*sizes, sides, weights, *values, *options, len(masks), *[x for mask in masks for x in mask]])

    causal, window, padding = [0, 6 + 16 * 0], [1, 8, 7, 7], [2, 14, 3, 21, 9, 17, 6]
    keep, added = [3, 3, 3, 1, 1, 14, 3, 21, 9, 17], [4, 3, 1, 1, 1, 14, 3, 21, 9, 17]
    calls = [
        attention(4, 4), attention(3, 5, [causal]), attention(5, 5, [window]), attention(3, 4, [padding, causal]), attention(4, 4, [keep]),
        attention(4, 4, [added]), attention(4, 6, [added, padding, window], weights=1), attention(4, 4, [causal], kv=2), attention(5, 3, sides=1),
        attention(5, 6, [padding], sides=1, weights=1, kv=2), attention(4, 5, options=(1, 18, 10, 0)), attention(0, 3), attention(3, 0, [causal]),
        attention(3, 3, width=0), attention(250, 233, [causal]), attention(245, 255, [window, padding], weights=1), attention(210, 250, [added, keep], sides=1),
        attention(4, 4, [[4, 3, 1, 1, 1, 202, 202, 202, 9, 17]]), attention(4, 4, [causal] * 3), attention(4, 4, [[0, 200]]), attention(4, 4, options=(0, 0, 0, 255)),
    ]
    for number_, call in enumerate(calls):
        write("attention", f"call_{number_}", call)
    for target, calls in {"windows": windows, "losses": losses, "matrices": matrices}.items():
        for operation, call in enumerate(calls):
            write(target, f"operation_{operation}", bytes([operation]) + call)


def make_command_lines():
    for name, words in {
            "train": "train lm --text a.txt --steps 100 --lr 0.5 --decay 0.1 --norm pre --dropout 0.1 --seed 7",
            "equals": "train lm --text=a.txt --layers=3 --shell=zsh --resume", "info": "info --files a b --limit -5 --quiet",
            "no_such_command": "trian lm", "no_such_option": "train lm --learning-rate 1", "missing_text": "train lm",
            "group": "train", "help": "help train lm", "help_option": "info --help", "help_nothing": "help train ml",
            "version": "--version", "completion": "completion --shell fish", "nothing": "", "ends": "-- -", "single": "-x -",
            "negative_seed": "train lm --text a --seed -1", "beyond": "train lm --text a --steps 1e400 --layers 99999999999",
            "not_a_number": "train lm --text a --lr nan --dropout inf", "excluded": "train lm --text a --out b --resume",
            "needs": "train lm --text a --decay 1", "no_value": "train lm --text", "twice": "info --limit 1 --limit 2",
            "list": "info --files [a,b] --other-seed 18446744073709551616 --top-p 1.0000001"}.items():
        write("command_line", name, words.replace(" ", "\n"))


def gguf_file(entries, infos, data, version=3):
    """A GGUF file: entries of (key, type, packed value), infos of (name, sizes from the innermost, type, offset)."""
    text = lambda name: struct.pack("<Q", len(name)) + name
    head = b"GGUF" + struct.pack("<IQQ", version, len(infos), len(entries))
    head += b"".join(text(key) + struct.pack("<I", kind) + value for key, kind, value in entries)
    head += b"".join(
        text(name) + struct.pack("<I", len(sizes)) + struct.pack(f"<{len(sizes)}Q", *sizes) + struct.pack("<IQ", kind, at)
        for name, sizes, kind, at in infos
    )
    return head + bytes(-len(head) % 32) + data


def make_gguf():
    text = lambda name: struct.pack("<Q", len(name)) + name
    numbers = [(0, "<B", 200), (1, "<b", -2), (2, "<H", 7), (3, "<h", -7), (4, "<I", 1), (5, "<i", -1), (6, "<f", 0.5),
               (7, "<B", 1), (10, "<Q", 1 << 40), (11, "<q", -1), (12, "<d", 0.1)]
    entries = [(b"n%d" % kind, kind, struct.pack(form, value)) for kind, form, value in numbers]
    entries += [(b"text", 8, text(b"gpt2")), (b"tokens", 9, struct.pack("<IQ", 8, 2) + text(b"a") + text(b"")),
                (b"scores", 9, struct.pack("<IQ2f", 6, 2, 0.5, -1)), (b"types", 9, struct.pack("<IQ2i", 5, 2, 1, 3))]
    infos = [(b"f32", (2, 3), 0, 0), (b"f16", (4,), 1, 32), (b"bf16", (4,), 30, 64), (b"q8", (32,), 8, 96), (b"q4", (32,), 2, 160)]
    data = floats(6) + bytes(8) + bytes(200)
    write("gguf", "every_kind", gguf_file(entries, infos, data))
    write("gguf", "version_2", gguf_file([], [(b"x", (1,), 0, 0)], floats(1), version=2))
    write("gguf", "alignment", gguf_file([(b"general.alignment", 4, struct.pack("<I", 8))], [(b"x", (1,), 0, 0)], floats(1)))
    write("gguf", "empty", gguf_file([], [], b""))
    write("gguf", "empty_tensor", gguf_file([], [(b"x", (256, 0), 0, 0)], bytes(64)))
    broken = {
        "another_type": gguf_file([], [(b"x", (32,), 12, 0)], bytes(64)),
        "array_of_arrays": gguf_file([(b"a", 9, struct.pack("<IQ", 9, 1))], [], b""),
        "huge_array": gguf_file([(b"a", 9, struct.pack("<IQ", 4, 1 << 60))], [], b""),
        "huge_axis": gguf_file([], [(b"x", (1 << 62, 1 << 62), 0, 0)], b""),
        "five_axes": gguf_file([], [(b"x", (1,) * 5, 0, 0)], floats(1)),
        "outside": gguf_file([], [(b"x", (4,), 0, 1 << 60)], floats(4)),
        "uneven": gguf_file([], [(b"x", (33,), 8, 0)], bytes(68)),
        "alignment_of_0": gguf_file([(b"general.alignment", 4, struct.pack("<I", 0))], [], b""),
        "twice": gguf_file([], [(b"x", (1,), 0, 0)] * 2, floats(1)),
        "version_1": gguf_file([], [], b"", version=1),
    }
    for name, content in broken.items():
        write("gguf", name, content)


class GgufModel:
    """A tiny model as a GGUF file: entries and tensors by name, which callers may change before writing."""

    def __init__(self, architecture, sizes, tensors, tokens, **tokenizer):
        self.entries = {"general.architecture": architecture, **{f"{architecture}.{key}": value for key, value in sizes.items()}}
        self.entries |= {"tokenizer.ggml.tokens": tokens} | {f"tokenizer.ggml.{key}": value for key, value in tokenizer.items()}
        self.tensors = dict(tensors)

    @staticmethod
    def value(value):
        text = lambda one: struct.pack("<Q", len(one.encode())) + one.encode()
        if isinstance(value, list):
            kind = {str: 8, float: 6, int: 5}[type(value[0])]
            items = b"".join(text(v) if kind == 8 else struct.pack("<f" if kind == 6 else "<i", v) for v in value)
            return 9, struct.pack("<IQ", kind, len(value)) + items
        if isinstance(value, bool):
            return 7, struct.pack("<B", value)
        if isinstance(value, str):
            return 8, text(value)
        return (6, struct.pack("<f", value)) if isinstance(value, float) else (4, struct.pack("<I", value))

    def bytes(self):
        infos, data = [], b""
        for name, shape in self.tensors.items():
            infos.append((name.encode(), tuple(reversed(shape)), 0, len(data)))
            count = math.prod(shape)
            data += struct.pack(f"<{count}f", *(0.25 * (i % 7) - 0.5 for i in range(count)))
            data += bytes(-len(data) % 32)
        return gguf_file([(key.encode(), *self.value(value)) for key, value in self.entries.items()], infos, data)


def gguf_llama(tokens=("a", "b", "ab", "</s>"), **tokenizer):
    layer = {"attn_norm": (4,), "attn_q": (4, 4), "attn_k": (2, 4), "attn_v": (2, 4), "attn_output": (4, 4), "ffn_norm": (4,),
             "ffn_gate": (3, 4), "ffn_up": (3, 4), "ffn_down": (4, 3)}
    tensors = {"token_embd.weight": (len(tokens), 4), "output_norm.weight": (4,)} | {f"blk.0.{name}.weight": s for name, s in layer.items()}
    sizes = {"context_length": 8, "embedding_length": 4, "block_count": 1, "feed_forward_length": 3, "attention.head_count": 2,
             "attention.head_count_kv": 1, "attention.layer_norm_rms_epsilon": 1e-5}
    usual = dict(model="gpt2", pre="llama-bpe", token_type=[1, 1, 1, 3], merges=["a b"], eos_token_id=3)
    return GgufModel("llama", sizes, tensors, list(tokens), **(usual | tokenizer))


def make_gguf_models():
    layer = {"attn_norm": (4,), "attn_qkv": (12, 4), "attn_output": (4, 4), "ffn_norm": (4,), "ffn_up": (3, 4), "ffn_down": (4, 3)}
    tensors = {"token_embd.weight": (4, 4), "position_embd.weight": (8, 4), "output_norm.weight": (4,), "output_norm.bias": (4,)}
    for name, shape in layer.items():
        tensors |= {f"blk.0.{name}.weight": shape, f"blk.0.{name}.bias": shape[:1]}
    sizes = {"context_length": 8, "embedding_length": 4, "block_count": 1, "feed_forward_length": 3, "attention.head_count": 2,
             "attention.layer_norm_epsilon": 1e-5}
    write("gguf_model", "gpt2", GgufModel("gpt2", sizes, tensors, ["a", "b", "ab", "<|endoftext|>"], model="gpt2", pre="gpt-2",
                                          token_type=[1, 1, 1, 3], merges=["a b"], bos_token_id=3, eos_token_id=3).bytes())
    write("gguf_model", "llama", gguf_llama(add_bos_token=True, bos_token_id=3).bytes())
    scores = gguf_llama(("<unk>", "<s>", "<0x61>", "▁", "b", "▁b"), model="llama", pre="default", token_type=[2, 3, 6, 1, 1, 1],
                        scores=[0.0, 0.0, 0.0, -1.0, -2.0, -0.5], unknown_token_id=0, bos_token_id=1, eos_token_id=1)
    del scores.entries["tokenizer.ggml.merges"]
    write("gguf_model", "scores", scores.bytes())
    scaled = gguf_llama()
    scaled.entries |= {"llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 2.0, "llama.rope.scaling.original_context_length": 4}
    write("gguf_model", "yarn", scaled.bytes())
    def broken(name, change):
        model = gguf_llama()
        change(model)
        write("gguf_model", name, model.bytes())

    broken("no_heads", lambda m: m.entries.update({"llama.attention.head_count": 0}))
    broken("many_layers", lambda m: m.entries.update({"llama.block_count": 0x7FFFFFFF}))
    broken("wide", lambda m: m.entries.update({"llama.embedding_length": 0x7FFFFFFF, "llama.attention.key_length": 0x7FFFFFFF}))
    broken("rotation", lambda m: m.tensors.update({"rope_freqs.weight": (1,)}))
    broken("experts", lambda m: m.entries.update({"llama.expert_count": 2}))
    broken("another_tokenizer", lambda m: m.entries.update({"tokenizer.ggml.model": "bert"}))
    broken("no_such_merge", lambda m: m.entries.update({"tokenizer.ggml.merges": ["a  c"]}))
    broken("twice", lambda m: m.entries.update({"tokenizer.ggml.tokens": ["a", "a", "b", "c"]}))
    broken("unused", lambda m: m.entries.update({"tokenizer.ggml.token_type": [1, 5, 5, 3]}))


for make in [make_safetensors, make_npy, make_npz, make_gguf, make_gguf_models, make_json, make_models, make_tokenizers, make_training, make_texts, make_operations, make_command_lines]:
    make()
