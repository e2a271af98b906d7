"""Texts for comparing tokenizers: hard ones, and lines of files."""

import pathlib
import random

HARD = [
    "", " ", "   ", "a", "time flies like an arrow", "Time FLIES like an Arrow.", "  leading and trailing  ",
    "tab\tnew\nline\r\nform\fvertical\vend", "don't I'll we've they're he'd I'm it's 'S 'T ''' ' s", "x'sy 'tis 'twas ''s",
    "unaffable embeddings tokenization antidisestablishmentarianism", "hello, world! (yes) [no] {maybe} <ok> $5 + 3 = 8 ^ ~ ` |",
    "emoji 😀 😀😀 👍🏽 👨‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 ❤️ #️⃣", "zero\u200bwidth \u200d joiner \u200e\u200f marks \ufeff bom \u2060",
    "e\u0301 a\u0300\u0301 o\u0327\u0302 n\u0303 \u0301alone \u0301\u0302", "é à ô ñ ü ß ẞ Ä Ö Ü å Å ç Ç", "İstanbul ISTANBUL ıi İİ i̇",
    "ΣΑΣ ΟΔΥΣΣΕΥΣ σς", "שָׁלוֹם עולם", "مَرْحَبًا بالعالم لا", "हिन्दी क्षत्रिय किताब", "ภาษาไทย ทดสอบ", "한국어 테스트 각 갂 한글", "ᄒ\u1161\u11ab \u1112\u1161\u11ab",
    "日本語のテスト 中文测试 混在text混在", "ｆｕｌｌｗｉｄｔｈ １２３ ｶﾞ", "ﬁ ﬂ ﬃ ﬀ ĳ ǆ", "① ² ½ ⅷ Ⅷ ٣ ३ ๓ 三", "1234567890 3.14 1,000 1e-9 0x1F",
    "nbsp\u00a0ideographic\u3000line\u2028para\u2029thin\u2009nel\u0085end ogham\u1680x", "a \u00a0b \u3000 c  \u00a0", " \u00a0", "\u3000\u3000x",
    "control\x00nul\x01\x02\x1f\x7f\x80\x9fend", "\ufffd replaced \ufffd\ufffd", "private \ue000 \U000f0000 unassigned \u0378 \U000e0001",
    "a" * 99, "a" * 100, "a" * 101, "ab" * 500, "é" * 100, "é" * 101, "x" * 3000, "😀" * 300, "\u0301" * 50, " " * 100, "a " * 200, "\n" * 10,
    "[CLS] inside [SEP] text [MASK] [PAD] [UNK] [cls] [ SEP ]", "a[SEP]b", "<|endoftext|> x<|endoftext|>y <|endoftext", "<s> </s> <unk> <pad> ▁ ▁▁a b▁c",
    "http://example.com/a?b=c&d=e#f user@host.org C:\\path\\file.txt", "snake_case camelCase kebab-case ALLCAPS x_y__z",
    "…—–‒―“quoted”‘single’«guillemets»„low“¿¡§¶†‡•‰′″‹›", "¢£¤¥€₹₿ ©®™ °±×÷ ←↑→↓ ∀∃∈ √∞≈ ■□▲",
    "\u1e9b\u0323 \u2126 \u212b \u0958 \ufb1d \u0344 \u0340", "ǅ ǈ ǋ ŉ ǰ ΐ", "𝒳𝓎 𝔘 𐍈 𠀀 𪜀 \U00011938 \U0001d160", "\U00010d50\U00016ea0 \ua7cb",
    "\u1734 \u166d \u061c \u070f \u180e \u08e2", "a\u0327\u0301b \u0d4a \u0dd9\u0dcf\u0dca", "Zażółć gęślą jaźń Příliš žluťoučký kůň Đặng Việt",
]


def made(count, seed=0):
    """Random strings of code points that trigger edge cases of the rules."""
    draw = random.Random(seed)
    kinds = [
        lambda: chr(draw.randrange(32, 127)), lambda: " ", lambda: draw.choice("\t\n\r\u00a0\u3000\u2028"), lambda: chr(draw.randrange(0xA0, 0x250)),
        lambda: chr(draw.randrange(0x300, 0x370)), lambda: chr(draw.randrange(0x370, 0x700)), lambda: chr(draw.randrange(0x4E00, 0x9FFF)),
        lambda: chr(draw.randrange(0xAC00, 0xD7A4)), lambda: chr(draw.randrange(0x1F300, 0x1F700)), lambda: draw.choice("'s't're've'm'll'd"),
        lambda: chr(draw.choice([draw.randrange(0x0, 0xD800), draw.randrange(0xE000, 0x110000)])), lambda: draw.choice("\u200d\ufe0f\u0301\u0000\ufffd"),
    ]
    return ["".join(draw.choice(kinds)() for _ in range(draw.randrange(1, 40))) for _ in range(count)]


def lines(paths, count):
    """The first lines of files, an equal share from each (more from long files if others are too short)."""
    found = [pathlib.Path(p).read_text(encoding="utf-8").split("\n") for p in paths]
    out, at = [], 0
    while len(out) < count and any(at < len(f) for f in found):
        out += [f[at] for f in found if at < len(f)]
        at += 1
    return out[:count]


# One line each: scripts, emoji with their joiners, combining marks, control characters, code.
WORDS = [
    "the quick brown Fox jumps".split(), "Größe Übermut Straße ÄRGER naïve façade Łódź Đặng smörgåsbord".split(), "Быстрая лиса ЁЛКА їжак љубав".split(),
    "γρήγορη Αλεπού ΟΔΟΣ ᾳ Ὧραι".split(), "الثعلب البنّيُّ ۱۲۳ ١٢٣ لله".split(), "שועל חוּם מהיר״ תל־אביב".split(), "तेज़ लोमड़ी क्षत्रिय श्री १२".split(),
    "หมาป่าสีน้ำตาล เร็ว ๓๔".split(), "빠른 갈색 여우 각 ㄱㅏ".split(), "敏捷的 棕色狐狸 すばやい キツネ ｷﾂﾈ 々 〆切 ㍻ 𠮷野家".split(), "ፈጣን ቡናማ ቀበሮ ፩፪".split(),
    "დიდი მელა ԱՐԱԳ աղվես".split(), "দ্রুত বাদামী ১২ வேகமான நரி རྐྱང་ ခွေး".split(), "Ｆｕｌｌ ﬁnal ﬀ ① Ⅷ ½ ㎏ ™ ²³ ℵ 𝔉𝒶𝓃𝒸𝓎".split(),
    ["👍🏽", "👨‍👩‍👧", "🏳️‍🌈", "🇩🇪🇫🇷", "❤️", "1️⃣", "😀😀", "🧑🏿‍🚀", "☺", "🫠"],
    ["\x00", "\x07", "\x1b[0m", "\x7f", "\x85", "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u202e", "\U000e0041", "\ufffe"],
    "0 7 42 1,000 3.14 1e-9 0xFF 12345678 2026-11-23 №5 €9.99 50% 10:30 +49-30-1 1_000_000".split(),
    ["x_y = f(a[i]);", "if (p != nullptr) {", "\treturn 0;", "}  // end", "#include <map>", "a->b::c()", "lambda x: x**2", "s = \"it's\"", "<div class='a'>",
     "&amp;", "https://a.b/c?d=e#f", "user@host.org", "C:\\tmp\\x", "--flag=1", "{\"k\": [1, 2]}", "SELECT * FROM t", "HTTPServer2", "i18n", "$HOME/.cfg"],
    ["don't", "WE'LL", "I'M", "he'd've", "'tis", "rock'n'roll", "l’été", "``so''", "…", "—", "¿Qué?", "«oui»", "!!!", "?!", "...", "--", "\"q\""],
]  # fmt: skip
BLANKS = [" "] * 12 + ["", "", "  ", "   ", "\t", "\n", "\n\n", "\r\n", " \n ", "\u00a0", "\u3000", "\u2009", "\u2028", "\v"]
MARKS = "\u0301\u0308\u0323\u0327\u0338\u20dd\u064b\u0651\u05b8\u093c\u0e49\u3099\ufe0f\u200d\U0001f3fd"


def mixed(count, seed=1):
    """Random lines of words in several scripts, emoji, code, numbers and control characters, some with combining marks."""
    draw = random.Random(seed)

    def word():
        chosen = draw.choice(draw.choice(WORDS))
        if draw.random() < 0.1:
            at = draw.randrange(len(chosen) + 1)
            chosen = chosen[:at] + "".join(draw.choice(MARKS) for _ in range(draw.randrange(1, 4))) + chosen[at:]
        return draw.choice([chosen.upper(), chosen.title(), chosen * 2]) if draw.random() < 0.1 else chosen

    return ["".join(word() + draw.choice(BLANKS) for _ in range(draw.randrange(1, 16))) for _ in range(count)]
