// What each view says of itself, and the words that the page uses.
import type { ViewName } from "../state";
import type { Derivation } from "./derivation";

export interface ViewText {
  see: string;
  attempt: string;
  derivations: Derivation[];
}

export const viewTexts: Partial<Record<ViewName, ViewText>> = {
  head: {
    see: "Who looks at whom: a line from each token that asks to each token it looks at, as strong as the weight.",
    attempt:
      "Point at a token on the left, switch to one head, then to Gradients: would the loss like this line stronger?",
    derivations: ["attention"],
  },
  model: {
    see: "Every head of every layer at once, rows are queries and columns are keys.",
    attempt: "Look for heads that look at one neighbor, at one token from everywhere, or everywhere alike; open one.",
    derivations: ["attention"],
  },
  neuron: {
    see: "How one score is made: query and key, number by number, their products, the sum, the scale and the softmax.",
    attempt: "Find the few numbers that make a large score, then choose Gradients and see what the query is sent.",
    derivations: ["attention", "linear"],
  },
  tape: {
    see: "Every operation that made the loss, in the order recorded; backward runs through the same list from the end.",
    attempt:
      "Press Backward, then Step: each operation turns the gradient of what it gave into that of what it was given.",
    derivations: ["linear", "embedding", "cross_entropy"],
  },
  softmax: {
    see: "One row of weights and its gradient, worked out term by term beside what the tape recorded.",
    attempt: "Compare g with dx: only what is better or worse than the row's mean Σ is passed on, times p.",
    derivations: ["softmax"],
  },
  layernorm: {
    see: "One row through LayerNorm and back: the gradient loses its mean and its part along x̂.",
    attempt: "Choose another row and see which of the two sums, mean or x̂, takes more away.",
    derivations: ["layer_norm"],
  },
  output: {
    see: "What the model holds for likely at each position, the right token framed, and the loss that this makes.",
    attempt:
      "Choose the position with the longest bar: its gradient p − y is what everything before it is blamed with.",
    derivations: ["cross_entropy", "softmax"],
  },
  activation: {
    see: "The units between the two products of a feed-forward layer, and what of the gradient each lets through.",
    attempt:
      "Count the units above 0, then choose another token: which units wake up, and which get the largest gradient?",
    derivations: ["linear"],
  },
  rotary: {
    see: "Pairs of a query's columns, turned by an angle that grows with the position; backward turns the gradient back.",
    attempt: "Step through the rows: the first pair turns fast, the last hardly at all.",
    derivations: ["attention"],
  },
  nudge: {
    see: "What a gradient promises for a change of one value (g times the change), beside what the loss truly does.",
    attempt:
      "Pull a little, then far: where do the two part? Then cut a head and see whether the gradient warned of it.",
    derivations: ["softmax", "attention"],
  },
  relative: {
    see: "One query's relative positions: what two trained tables add to its scores and values, by distance, and what they are sent.",
    attempt:
      "Step through the queries: the same row of a table serves every pair at its distance. Which distances get the largest gradient?",
    derivations: ["attention"],
  },
  runs: {
    see: "The same text in several runs: the weights of one head, the losses and what is likely, side by side with their differences.",
    attempt:
      "Find the position whose loss changed most, then the head whose weights did; with more than two runs, press Play.",
    derivations: ["attention", "cross_entropy"],
  },
  patching: {
    see: "The model reads a corrupted text; each cell puts back what one layer or head gave for the clean one, at one token.",
    attempt:
      "Follow the cells near 1 from layer to layer: there the difference between the texts travels to the output.",
    derivations: ["attention"],
  },
  gradcheck: {
    see: "Every gradient compared with differences in double precision: backward held against forward.",
    attempt: "Find the largest error: how many digits do backward and differences agree in?",
    derivations: ["linear"],
  },
};

export const glossary: [string, string][] = [
  ["activation", "A number that the model computes on its way, as opposed to a parameter, which it is made of."],
  [
    "attention weight",
    "How much of a key's value a query takes, p: a row of them is a softmax and sums to 1. Also: probability.",
  ],
  [
    "backward",
    "The way from the loss to everything it was made from: each operation turns the gradient of its output into gradients of its inputs.",
  ],
  [
    "chain rule",
    "If y is made from x and L from y, then dL/dx = Σ dL/dy · dy/dx: what backward applies, operation by operation.",
  ],
  ["checkpoint", "A model as it was at one moment of its training; several of them in a row make a film."],
  ["context", "What a head gives for one query: the values of all keys, each times its weight, added up."],
  ["contribution", "What one operation sends to one of its inputs; what several send is added up to the gradient."],
  ["cross-attention", "Queries of one text (the translation so far) look at keys of another (the source)."],
  ["cut", "A part of a head taken out on purpose, to see what the loss says to that."],
  ["embedding", "The row of numbers that stands for a token."],
  ["forward", "The way from the tokens to the loss, operation by operation; the tape writes it down."],
  [
    "gradient",
    "dL/dx: by how much the loss changes for a small change of x, divided by that change. Its sign says which way, its size how steeply.",
  ],
  ["head", "One attention of several in a layer, each with its own queries, keys and values."],
  ["Jacobian", "All derivatives dyᵢ/dxⱼ of an operation. Backward multiplies a gradient by it and never stores it."],
  ["key", "What a token offers to be found by: a row of numbers that queries are compared with."],
  ["LayerNorm", "Each row brought to mean 0 and variance 1, then scaled and shifted by learned numbers."],
  ["leaf", "What the tape begins with: parameters and inputs. Their gradients are what training uses."],
  ["logit", "The score of a token before the softmax that makes probabilities of all scores."],
  [
    "loss",
    "One number that says how wrong the model is here; for a token, −ln of the probability it gave to the right one.",
  ],
  ["mask", "What a query must not see: its score becomes −∞, its weight 0."],
  ["nudge", "A small change of one value, all else held, made to see whether the gradient told the truth."],
  [
    "patching",
    "One activation of a run put into another run, to see how much of the difference between the two passes there.",
  ],
  [
    "parameter",
    "A number that training changes: it subtracts the learning rate times the gradient, or something cleverer.",
  ],
  ["query", "What a token asks for: a row of numbers that is compared with every key."],
  ["residual", "A layer's input added to its output, so that gradients have a straight way back."],
  ["score", "Query times key, times 1/√D: large where they fit. Softmax of a row of scores gives the weights."],
  ["softmax", "exp of each number divided by the sum of all: positive, and the row sums to 1."],
  ["tape", "The list of all operations of a forward, with what each needs for its backward."],
  [
    "token",
    "A piece of text that has its own number in the vocabulary. In vocabularies of bytes Ġ stands for a space and Ċ for a new line; in others ## goes on from the token before.",
  ],
  ["value", "What a token has to say to queries that look at it."],
];
