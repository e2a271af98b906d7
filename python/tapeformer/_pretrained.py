"""Models of a folder with their tokenizer: tape.load("gpt2").generate("Once upon a time")."""

import contextlib
import dataclasses
import pathlib
import queue
import random
import tempfile
import threading
import warnings

from . import _tapeformer
from ._scopes import default_device, no_grad
from ._tapeformer import Error, Tensor, models, text

# What the models of a class can do.
_ABILITIES = (
    (models.CausalLM, ("generate", "chat")),
    (models.EncoderDecoder, ("translate", "generate")),
    (models.SentenceEncoder, ("embed",)),
    (models.EncoderModel, ("embed",)),
    (models.MaskedLanguageModel, ("embed",)),
    (models.SequenceClassifier, ("classify",)),
    (models.TokenClassifier, ("classify",)),
    (models.ImageClassifier, ("classify",)),
)
_VERBS = {
    "generate": "generate text",
    "chat": "chat",
    "translate": "translate",
    "classify": "classify",
    "embed": "embed texts",
}


@dataclasses.dataclass
class Translation:
    """A translation of a text."""

    text: str
    score: float  # sum of log p / length^alpha
    ids: list[int]
    ended: bool  # False if cut off at max_length
    alignment: Tensor | None = None  # [T, S]: attention of its tokens to those of the source

    def __str__(self):
        return self.text


def load(folder, *, device=None, adapter=None, source_language="", target_language=""):
    """Loads the model of a folder with its tokenizer, ready for inference.

    `folder` is one of Hugging Face transformers or sentence-transformers, one of a training run, one of adapters
    (peft), or a .gguf file of llama.cpp. `adapter` is a folder of adapters for the model. The languages choose among
    those of a multilingual translation model.

    >>> tape.load("gpt2").generate("Once upon a time", max_new_tokens=20, temperature=0)
    >>> tape.load("opus-mt-de-en").translate(["Guten Morgen!"])
    >>> tape.load("sst2").classify("A wonderful film.")
    >>> tape.load("all-MiniLM-L6-v2").embed(["one text", "another"])

    Raises Error (io), (format) or (config) with the file, and (device) if there is no such device.
    """
    path = pathlib.Path(folder)
    with _on(device):
        languages = dict(source_language=source_language, target_language=target_language)
        if path.suffix == ".gguf":
            model = models.load_gguf_model(str(path))
            with tempfile.TemporaryDirectory() as files:
                models._write_gguf_tokenizer(str(path), files)
                tokenizer = text.load_tokenizer(files)
        else:
            model = _load_model(path)
            is_image_model = isinstance(model, (models.Vit, models.ImageClassifier))
            tokenizer = None if is_image_model else text.load_tokenizer(_tokenizer_folder(path), **languages)
        if adapter is not None:
            models.load_adapter(str(adapter), model)
        _check_sizes(str(folder), model, tokenizer)
        model.prepare_for_inference()
    return LoadedModel(model, tokenizer, folder=str(folder), device=device)


def _load_model(path):
    if models._has_pooling(str(path)):
        return models.load_sentence_encoder(str(path))
    return models.load_model(str(path))


def _tokenizer_folder(path):
    """Adapters may come without a tokenizer, which is the base model's then."""
    if models.is_adapter_folder(str(path)) and not any(path.glob("*token*")) and not any(path.glob("vocab*")):
        return models.base_model_folder(str(path))
    return str(path)


def _check_sizes(folder, model, tokenizer):
    if isinstance(model, models.EncoderDecoder):
        models._check_tokenizer_fits(folder, tokenizer, "src_vocab", model.options().src_vocab)
        models._check_tokenizer_fits(folder, tokenizer.target, "tgt_vocab", model.options().tgt_vocab)
    elif isinstance(model, (models.CausalLM, models.EncoderModel)):
        models._check_tokenizer_fits(folder, tokenizer, "vocab_size", model.vocab())
    elif tokenizer is not None:
        models._check_tokenizer_fits(folder, tokenizer, "vocab_size", _encoder(model).vocab())


def _encoder(model):
    """The encoder of a model with a head, which is its first child and named after its family."""
    return model if isinstance(model, models.EncoderModel) else model.named_children()[0][1]


def _on(device):
    return contextlib.nullcontext() if device is None else default_device(device)


def _error(kind, message):
    error = Error(message)
    error.kind, error.module_path = kind, ""
    return error


class LoadedModel:
    """A model and its tokenizer. `model` is a Module: its parameters, hooks and forward() are those of any module."""

    def __init__(self, model, tokenizer, *, folder="", device=None):
        self._model = model
        self._tokenizer = tokenizer
        self._folder = folder
        self._device = device

    @property
    def model(self):
        """The model, an object of its class: models.Gpt, models.Bart, ..."""
        return self._model

    @property
    def tokenizer(self):
        """The tokenizer, which a model of images does not have (None)."""
        return self._tokenizer

    @property
    def folder(self):
        """Where it was loaded from."""
        return self._folder

    def __repr__(self):
        name, size = type(self._model).__name__, self._model.parameter_count()
        return f"LoadedModel({name}, {size:,} parameters, folder={self._folder!r})"

    def save(self, folder):
        """Writes model and tokenizer as a folder that load() and transformers (or sentence-transformers) read."""
        if isinstance(self._model, models.SentenceEncoder):
            models.save_sentence_encoder(str(folder), self._model)
        else:
            models.save(str(folder), self._model)
        if self._tokenizer is not None:
            self._tokenizer.save(str(folder))

    # --- generation ---

    def generate(
        self,
        prompt,
        *,
        max_new_tokens=100,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        min_p=0.0,
        repetition_penalty=1.0,
        seed=None,
        min_new_tokens=None,
        no_repeat_ngram=None,
        count=1,
        batch=32,
        continuation_only=False,
        stream=None,
    ):
        """Continues a text, or each text of a list. A model with an encoder (T5, BART) reads the text and writes
        another.

        temperature: divisor of the logits; 0: always the likeliest token
        top_k, top_p, min_p: sample from the k likeliest tokens, from the likeliest with this mass, from those with at
            least this share of the likeliest's probability
        repetition_penalty: above 1, earlier tokens become less likely
        seed: text i is sampled with seed + i; by default a different one each time
        min_new_tokens, no_repeat_ngram: default to the model's generation_config.json
        count: texts per prompt; the result is then a list per prompt
        batch: texts per batch
        continuation_only: return the continuation without the prompt
        stream: a function that is called with each new piece of text; True returns an iterator over the pieces instead
            of the text. One prompt, one text.

        Returns the text (prompt and continuation), or a list of texts. Error (config) names an invalid option.
        """
        self._require("generate")
        options = dict(
            max_new_tokens=max_new_tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            repetition_penalty=repetition_penalty,
            min_new_tokens=min_new_tokens,
            no_repeat_ngram=no_repeat_ngram,
            seed=random.getrandbits(63) if seed is None else seed,
        )
        self._warn_of_keys_not_followed()
        prompts = [prompt] if isinstance(prompt, str) else list(prompt)
        ids = [self._prompt_ids(one) for one in prompts]
        keep_prompt = isinstance(self._model, models.CausalLM) and not continuation_only
        if stream:
            if not isinstance(prompt, str) or count != 1:
                raise _error(
                    "config", f"generate: stream needs one prompt and one text, got {len(prompts)} and count {count}"
                )
            return self._streamed(prompt, ids[0], options, stream, keep_prompt)
        texts = self._continued(prompts, ids, options, count, batch, keep_prompt)
        per_prompt = [texts[i * count : (i + 1) * count] for i in range(len(prompts))]
        if count == 1:
            per_prompt = [found[0] for found in per_prompt]
        return per_prompt[0] if isinstance(prompt, str) else per_prompt

    def chat(self, messages, *, system=None, thinking=True, stream=None, **options):
        """The answer of a chat model to a message of the user, or to a list of messages {'role': ..., 'content': ...}.

        The folder's chat template must be a known one (text.ChatTemplate). thinking=False makes Qwen 3 answer at once;
        the other options are those of generate().
        """
        self._require("chat")
        self._warn_of_keys_not_followed()
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        if system is not None:
            messages = [{"role": "system", "content": system}, *messages]
        template = text.ChatTemplate.load(self._folder)
        prompt = template.apply(messages, thinking="allowed" if thinking else "off")
        ids = self._tokenizer.encode(prompt, add_special_tokens=False)
        options = {"max_new_tokens": 100, "seed": random.getrandbits(63), **options}
        if stream:
            return self._streamed("", ids, options, stream, False)
        return self._continued([""], [ids], options, 1, 1, False)[0]

    def _warn_of_keys_not_followed(self):
        """Of generation_config.json, where they would change the text in transformers."""
        if note := models._search_note(self._model, self._folder):
            warnings.warn(note, stacklevel=3)

    def _prompt_ids(self, prompt):
        if isinstance(self._model, models.EncoderDecoder):
            return self._source_ids(prompt)
        return models.prompt_ids(self._tokenizer, prompt)

    def _source_ids(self, text, max_length=0):
        """Without padding that the text contains literally, which models refuse."""
        padding = self._tokenizer.pad_id
        return [token for token in self._tokenizer.encode(text, max_length=max_length) if token != padding]

    def _continued(self, prompts, ids, options, count, batch, keep_prompt):
        rows = [(prompt, tokens) for prompt, tokens in zip(prompts, ids) for _ in range(count)]
        texts = []
        for first in range(0, len(rows), batch):
            part = rows[first : first + batch]
            found = self._run(
                [tokens for _, tokens in part], {**options, "seed": options["seed"] + first}, lambda row, token: None
            )
            for (prompt, tokens), continuation in zip(part, found):
                decoder = text.StreamDecoder(self._tokenizer, tokens)
                said = "".join(decoder.push(token) for token in continuation.tokens) + decoder.finish()
                texts.append(prompt + said if keep_prompt else said)
        return texts

    def _run(self, ids, options, on_token):
        """Continuations of ids. Python's signal handlers run in on_token(), so Ctrl-C ends a long text."""
        with _on(self._device), no_grad():
            limits = dict(vocabulary=self._tokenizer.target.vocab_size)
            if isinstance(self._model, models.EncoderDecoder):
                start = models.target_start(self._model, self._tokenizer)
                limits.update(bos=start.bos, forced_bos=start.forced_bos)
            return models.generate(self._model, ids, on_token=on_token, **limits, **options)

    def _streamed(self, prompt, ids, options, stream, keep_prompt):
        if stream is True:
            return _pieces(lambda write: self._write(ids, options, write))
        pieces = []

        def write(piece):
            pieces.append(piece)
            stream(piece)

        self._write(ids, options, write)
        return (prompt if keep_prompt else "") + "".join(pieces)

    def _write(self, ids, options, write):
        decoder = text.StreamDecoder(self._tokenizer, ids)

        def on_token(row, token):
            piece = decoder.finish() if token is None else decoder.push(token)
            if piece:
                write(piece)

        self._run([ids], options, on_token)

    # --- translation ---

    def translate(
        self,
        texts,
        *,
        beams=None,
        n_best=1,
        length_penalty=None,
        early_stopping=None,
        no_repeat_ngram=None,
        min_length=None,
        max_length=0,
        batch_tokens=4096,
        alignments=False,
        details=False,
    ):
        """Translates a text, or each of a list, by beam search.

        beams: hypotheses kept per text; 1 is greedy; default: the model's, or 4
        n_best: translations per text, best first; the result is then a list per text
        length_penalty, early_stopping, no_repeat_ngram, min_length: default to the model's generation_config.json
        max_length: tokens of a translation; 0: the model's, or 3 S + 20 for a source of S tokens
        batch_tokens: source tokens per batch, with padding
        details: return Translation objects (text, score, ids, ended, alignment) instead of texts; as alignments=True does

        A text without tokens has the translation "". Texts longer than the model's positions are truncated.
        """
        self._require("translate")
        self._warn_of_keys_not_followed()
        with _on(self._device), no_grad():
            model, tokenizer = self._model, self._tokenizer
            start = models.target_start(model, tokenizer)
            many = [texts] if isinstance(texts, str) else list(texts)
            longest = model.max_length() or 0
            results = []
            for first in range(0, len(many), 2000):  # as the command; Ctrl-C is noticed in between
                ids = [
                    self._source_ids(one, max_length=longest) if one.strip(" \t") else []
                    for one in many[first : first + 2000]
                ]
                found = models.translate(
                    model,
                    ids,
                    beams=beams,
                    n_best=n_best,
                    length_penalty=length_penalty,
                    early_stopping=early_stopping,
                    no_repeat_ngram=no_repeat_ngram,
                    min_length=min_length,
                    max_length=max_length,
                    batch_tokens=batch_tokens,
                    alignments=alignments,
                    scores=details or alignments or n_best > 1,
                    vocabulary=tokenizer.target.vocab_size,
                    bos=start.bos,
                    forced_bos=start.forced_bos,
                )
                results += [self._translations(of_text, alignments) for of_text in found]
        if not (details or alignments):
            results = [[str(one) for one in found] for found in results]
        if n_best == 1:
            results = [found[0] for found in results]
        return results[0] if isinstance(texts, str) else results

    def _translations(self, found, alignments):
        target = self._tokenizer.target
        made = [
            Translation(target.decode(t.tokens), t.score, t.tokens, t.ended, t.alignment if alignments else None)
            for t in found
        ]
        return made or [Translation("", 0.0, [], True)]

    # --- labels and vectors ---

    def classify(self, texts, pairs=None, *, top_k=1, batch_tokens=4096):
        """Labels of a text, of each of a list, of pairs of texts, or of images (a tensor [B, channels, H, W]).

        A result is {'label': ..., 'score': ...}, with the label's probability, or the value of a regression; with
        top_k=None a list of all labels, likeliest first, with top_k above 1 of so many. A model that labels words
        (named entities) splits a text at spaces and returns a list with such a result per word, with its 'word'; words
        that the model does not read have the label None.
        """
        self._require("classify")
        with _on(self._device), no_grad():
            if isinstance(self._model, models.ImageClassifier):
                return self._classified_images(texts, top_k)
            many = [texts] if isinstance(texts, str) else list(texts)
            others = [pairs] if isinstance(pairs, str) else pairs
            if others is not None and len(others) != len(many):
                raise _error("shape", f"classify: {len(many)} texts, but {len(others)} pairs")
            if isinstance(self._model, models.TokenClassifier):
                if pairs is not None:
                    raise _error("config", "classify: the model is a TokenClassifier, which reads one text, not a pair")
                results = self._labeled_words(many, top_k, batch_tokens)
            else:
                results = self._classified(many, others, top_k, batch_tokens)
        return results[0] if isinstance(texts, str) else results

    def _classified(self, many, others, top_k, batch_tokens):
        encoder = _encoder(self._model)
        encodings = [
            self._tokenizer.encoding(one, others[i] if others else None, max_length=encoder.max_length())
            if one.strip(" \t")
            else None
            for i, one in enumerate(many)
        ]
        segments = others is not None and encoder.segments() > 1
        found = models.classify(
            self._model,
            [one.ids if one else [] for one in encodings],
            [one.type_ids if one else [] for one in encodings] if segments else [],
            batch_tokens=batch_tokens,
        )
        names = models._label_names(self._model)
        return [_ranked(names, row, top_k) for row in found]

    def _classified_images(self, pixels, top_k):
        values = models.label_values(self._model(pixels).double(), self._model.problem_type())
        names = models._label_names(self._model)
        return [_ranked(names, row, top_k) for row in values.tolist()]

    def _labeled_words(self, many, top_k, batch_tokens):
        names = models._label_names(self._model)
        longest = _encoder(self._model).max_length()
        words = [one.replace("\t", " ").split(" ") for one in many]
        words = [[word for word in row if word] for row in words]
        placed = [text.align_words(row, self._tokenizer.encoding(" ".join(row), max_length=longest)) for row in words]
        found = models.label_words(self._model, placed, batch_tokens=batch_tokens)
        results = []
        for row, places, values in zip(words, placed, found):
            of_words = [{"word": word, "label": None, "score": None} for word in row]
            for k, word in enumerate(places.words):
                best = _ranked(names, values[k * len(names) : (k + 1) * len(names)], top_k)
                of_words[word] = {"word": row[word], **best} if top_k == 1 else {"word": row[word], "labels": best}
            results.append(of_words)
        return results

    def embed(self, texts, *, prompt=None, prompt_name=None, batch_tokens=4096):
        """The vector of a text, [width], or those of a list, [N, width], as encode() of sentence-transformers returns
        them.

        prompt: text before each one, such as 'query: '; prompt_name: the model's prompt of this name instead. An
            encoder without pooling (BERT) gives the mean of its last hidden states.
        """
        self._require("embed")
        many = [texts] if isinstance(texts, str) else list(texts)
        with _on(self._device), no_grad():
            model = self._model
            if isinstance(model, models.SentenceEncoder):
                options = {
                    name: value
                    for name, value in (("prompt", prompt), ("prompt_name", prompt_name))
                    if value is not None
                }
                vectors = models.embed(model, self._tokenizer, many, batch_tokens=batch_tokens, **options)
            else:
                if prompt_name is not None:
                    raise _error(
                        "config", f"embed: a {type(model).__name__} has no prompts, so none named {prompt_name!r}"
                    )
                vectors = self._means([(prompt or "") + one for one in many], batch_tokens)
        return vectors[0] if isinstance(texts, str) else vectors

    def _means(self, many, batch_tokens):
        encoder = _encoder(self._model)
        ids = [self._tokenizer.encode(one, max_length=encoder.max_length()) for one in many]
        rows = [_tapeformer.zeros((encoder.width(),)) for _ in ids]  # of texts without tokens
        for places in models._batches_by_length([len(of_text) for of_text in ids], batch_tokens):
            padded = models._padded_rows(ids, places, encoder.options().padding_id)
            mask = encoder.padding(padded)
            for place, vector in zip(places, models.sentence_pool(encoder(padded, mask), mask, ["mean"])):
                rows[place] = vector
        return _tapeformer.stack(rows)

    def _require(self, ability):
        for kind, abilities in _ABILITIES:
            if isinstance(self._model, kind):
                if ability in abilities:
                    return
                does = " and ".join(f"{name}()" for name in abilities)
                break
        else:
            does = "only its model's own forward()"
        name = type(self._model).__name__
        article = "an" if name[0] in "AEIOU" else "a"
        raise _error(
            "config", f"{ability}: {self._folder} holds {article} {name}, which cannot {_VERBS[ability]}; it has {does}"
        )


def _ranked(names, values, top_k):
    order = sorted(range(len(values)), key=lambda i: -values[i])
    found = [{"label": names[i], "score": values[i]} for i in order]
    if top_k == 1:
        return found[0] if found else {"label": None, "score": None}
    return found if top_k is None else found[:top_k]


class _Stopped(Exception):
    """Ends a generation whose iterator was closed."""


def _pieces(run):
    """What run(write) writes, one by one, while it runs in a thread of its own."""
    pieces, closed, end = queue.Queue(), threading.Event(), object()

    def write(piece):
        if closed.is_set():
            raise _Stopped
        pieces.put(piece)

    def work():
        try:
            run(write)
            pieces.put(end)
        except _Stopped:
            pass
        except BaseException as error:  # raised in the thread that iterates
            pieces.put(error)

    def iterate():
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            while (piece := pieces.get()) is not end:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            closed.set()
            thread.join()

    return iterate()
