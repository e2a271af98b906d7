"""Tokenizers and scores."""

import pytest
import tapeformer as tape
from fixture_folders import FIXTURES

text = tape.text
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "one", "two", "##s"]


def test_word_piece():
    tokenizer = text.WordPiece(WORDS)
    assert isinstance(tokenizer, text.Tokenizer) and tokenizer.vocab_size == len(tokenizer) == 8
    assert tokenizer.encode("One twos") == [2, 5, 6, 7, 3]
    assert tokenizer.encode("one", "two") == [2, 5, 3, 6, 3]
    assert tokenizer.encode("one two", add_special_tokens=False) == [5, 6]
    assert tokenizer.encode("one two one", max_length=4) == [2, 5, 6, 3]
    assert tokenizer.encode("one two one", max_length=3, truncation_side="left") == [2, 5, 3]
    assert tokenizer.decode([2, 5, 6, 7, 3]) == tokenizer.decode(tape.tensor([2, 5, 6, 7, 3])) == "one twos"
    assert tokenizer.decode([2, 5], skip_special_tokens=False) == "[CLS] one"
    assert (tokenizer.cls_id, tokenizer.sep_id, tokenizer.pad_id, tokenizer.unk_id, tokenizer.mask_id) == (
        2,
        3,
        0,
        1,
        4,
    )
    assert tokenizer.bos_id is None and tokenizer.eos_id is None
    assert tokenizer.token(7) == "##s" and tokenizer.tokens([5, 6]) == ["one", "two"]
    assert tokenizer.find("two") == 6 and tokenizer.find("three") is None
    assert tokenizer.is_special(2) and not tokenizer.is_special(5)
    assert repr(tokenizer) == "WordPiece(8 tokens)"


def test_encoding():
    encoding = text.WordPiece(WORDS).encoding("one", "twos")
    assert encoding.ids == [2, 5, 3, 6, 7, 3]
    assert encoding.type_ids == [0, 0, 0, 1, 1, 1]
    assert encoding.special_tokens_mask == [1, 0, 1, 0, 0, 1]
    assert [(r.begin, r.end) for r in encoding.offsets] == [(0, 0), (0, 3), (0, 0), (0, 3), (3, 4), (0, 0)]


def test_batch():
    tokenizer = text.WordPiece(WORDS)
    batch = tokenizer.encode_batch(["one two", "one"])
    assert batch["input_ids"].tolist() == [[2, 5, 6, 3], [2, 5, 3, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]
    assert batch["token_type_ids"].tolist() == [[0] * 4] * 2
    assert batch["input_ids"].dtype == tape.i64
    pairs = tokenizer.encode_batch(["one", "one"], ["two", "two two"], multiple_of=4, padding_side="left")
    assert pairs["input_ids"].tolist() == [[0, 0, 0, 2, 5, 3, 6, 3], [0, 0, 2, 5, 3, 6, 6, 3]]
    assert pairs["token_type_ids"].shape == (2, 8)
    assert tokenizer.encode_batch([])["input_ids"].shape == (0, 0)
    with pytest.raises(tape.Error, match="4 and 3 tokens"):
        tokenizer.encode_batch(["one two", "one"], padding="none")
    with pytest.raises(tape.Error):
        tokenizer.encode_batch(["one"], ["two", "two"])


def test_errors():
    tokenizer = text.WordPiece(WORDS)
    with pytest.raises(tape.Error) as raised:
        tokenizer.decode([8])
    assert raised.value.kind == "index"
    with pytest.raises(tape.Error, match=r"\[1, 2\] must be \[T\]"):
        tokenizer.decode(tape.tensor([[5, 6]]))
    with pytest.raises(tape.Error):
        text.load_tokenizer("/nowhere")


@pytest.mark.parametrize("name", ["bert", "gpt2", "marian", "t5", "spm_bpe", "unigram_json", "xlm_roberta"])
def test_folders(name, tmp_path):
    tokenizer = text.load_tokenizer(str(FIXTURES / "tokenizers" / name))
    ids = tokenizer.encode("one two three")
    assert ids and max(ids) < tokenizer.vocab_size
    tokenizer.save(str(tmp_path))
    again = text.load_tokenizer(str(tmp_path))
    assert type(again) is type(tokenizer) and again.encode("one two three") == ids


def test_languages():
    folder = str(FIXTURES / "tokenizers" / "nllb")
    tokenizer = text.load_tokenizer(folder)
    languages = [tokenizer.token(i) for i in range(tokenizer.vocab_size) if tokenizer.token(i).endswith("_Latn")]
    assert len(languages) > 1
    chosen = text.load_tokenizer(folder, source_language=languages[0], target_language=languages[1])
    assert chosen.token(chosen.language) == languages[0]
    assert chosen.target.token(chosen.target.language) == languages[1]
    with pytest.raises(tape.Error, match="xyz"):
        text.load_tokenizer(folder, target_language="xyz")


def test_characters():
    tokenizer = text.character_tokenizer("cab")
    assert tokenizer.encode("abc") == [0, 1, 2] and tokenizer.vocab_size == 4
    assert tokenizer.decode([2, 0, 1]) == "cab"


def test_stream_decoder_waits_for_whole_characters():
    tokenizer = text.train_byte_level_bpe(["aé"] * 3, vocab_size=257)
    ids = tokenizer.encode("aé")
    decoder = text.StreamDecoder(tokenizer)
    pieces = [decoder.push(one) for one in ids]
    assert "".join(pieces) + decoder.finish() == "aé"
    assert tokenizer.decode(ids[-1:]) in ("�", "é")


def test_training(tmp_path):
    lines = ["the cat sat on the mat", "the dog sat on the log"] * 5
    bpe = text.train_byte_level_bpe(lines, vocab_size=270, special_tokens=["<s>", "<pad>"])
    assert bpe.vocab_size == 270 and bpe.bos_id == 0
    assert bpe.decode(bpe.encode("the cat")) == "the cat"
    assert len(bpe.encode("the cat sat")) < len("the cat sat")
    bpe.save(str(tmp_path))
    assert text.load_tokenizer(str(tmp_path)).encode(lines[0]) == bpe.encode(lines[0])
    pieces = text.train_sentencepiece(lines, vocab_size=40, exact_size=False)
    assert pieces.decode(pieces.encode("the cat")) == "the cat"
    assert pieces.eos_id == 1
    with pytest.raises(tape.Error):
        text.train_byte_level_bpe(lines, vocab_size=10)


def test_given_vocabulary():
    bpe = text.ByteLevelBpe(["a", "b", "ab"], [("a", "b")])
    assert bpe.encode("ab") == [2]


def test_scores():
    hypotheses, references = ["the cat sat on the mat", "a dog"], ["the cat sat on a mat", "a dog"]
    score = text.bleu(hypotheses, references)
    assert 55 < score.score < 57 and score.hyp_length == 8 and "tok:13a" in score.signature
    assert text.bleu(references, references).score == pytest.approx(100)
    assert text.bleu(hypotheses, [references, hypotheses]).score == pytest.approx(100)
    assert text.chrf(hypotheses, references).name == "chrF2"
    assert text.chrf(references, references).score == pytest.approx(100)
    with pytest.raises(tape.Error):
        text.bleu(hypotheses, references[:1])


def test_chat_template():
    template = text.ChatTemplate("chatml")
    assert template.name == "chatml"
    assert (
        template.apply([{"role": "user", "content": "Hi"}]) == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    with pytest.raises(tape.Error, match="role and content"):
        template.apply([{"role": "user"}])
    with pytest.raises(tape.Error, match="name"):
        template.apply([{"role": "user", "content": "Hi", "name": "x"}])


def test_explain_and_number_words():
    assert any("twos" in line for line in text.WordPiece(WORDS).explain("twos"))
    assert text.german_number(21) == "einundzwanzig" and text.english_number(43) == "forty-three"
    assert text.held_out_sample(3, 1) == text.held_out_sample(3, 1)
