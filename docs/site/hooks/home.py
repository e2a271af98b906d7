"""The home page: README.md with its picture and its three promises as the top of the page."""
import re

import plots

HERO = """<div class="hero" markdown>
<div class="words" markdown>

# Tapeformer

{lead}

[First steps](docs/guide/first_steps.md){{ .md-button .md-button--primary }} [Try it here](explorer.md){{ .md-button }}

</div>
<div class="picture" markdown>

[![{alt}]({light}#only-light)![{alt}]({dark}#only-dark)](explorer.md)

</div>
</div>

<div class="grid cards" markdown>

{promises}

</div>
"""


def take(pattern, text):
    """The match of a pattern that README must contain, and the text without it."""
    match = re.search(pattern, text, re.DOTALL | re.MULTILINE)
    if match is None:
        raise ValueError(f"README.md has nothing that matches {pattern}")
    return match, text[:match.start()] + text[match.end():]


def home(readme):
    _, text = take(r"^# Tapeformer\n", readme)
    lead, text = take(r"^(\w[^\n]*(?:\n[^\n]+)*)\n", text)
    _, text = take(r"^\[First steps\].*?\n\n", text)
    picture, text = take(r'^<a href="[^"]*"><picture>.*?srcset="([^"]*)".*?alt="([^"]*)" src="([^"]*)".*?</a>\n', text)
    promises, text = take(r"^## What it does\n\n(.*?)\n(?=\n## )", text)
    bars, text = take(r"^!\[[^]]*\]\(docs/pictures/speed.svg\)\n", text)
    text = text.replace("Nothing to build: download [docs/try/index.html](docs/try/index.html) and open it.",
                        "Nothing to build: open [the explorer](explorer.md).")
    before, table, after = re.split(r"((?:^\|.*\n)+)", text[text.index("## Speed"):], maxsplit=1, flags=re.MULTILINE)
    speed = f"{before}{plots.speed(readme)}\n\n{table}{after}"
    hero = HERO.format(lead=lead[1], alt=picture[2], light=picture[3], dark=picture[1], promises=promises[1])
    return f"{hero}\n{text[:text.index('## Speed')]}{speed}"
