// The descriptions of the views, and the glossary.
import type { ViewName } from "../state";
import type { Derivation } from "./derivation";

export interface ViewText {
  see: string;
  attempt: string;
  derivations: Derivation[];
}

export const viewTexts: Partial<Record<ViewName, ViewText>> = {
  overview: {
    see: "The model with this text flowing through it, from the tokens at the top to the loss; the color of a part shows how large its output is.",
    attempt:
      "Click a part to open it at that block; then switch to Gradient norm: which parts would change the loss most?",
    derivations: ["attention", "cross_entropy"],
  },
  head: {
    see: "Which token attends to which: a line from each query to each key, as strong as the weight.",
    attempt:
      "Hover over a token on the left, switch to one head, then to Gradients: would a stronger line lower the loss?",
    derivations: ["attention"],
  },
  model: {
    see: "Every head of every layer at once. Rows are queries, columns are keys.",
    attempt: "Look for heads that attend to a neighbor, to one fixed token, or uniformly; open one.",
    derivations: ["attention"],
  },
  neuron: {
    see: "How a score is computed: query and key number by number, their products, the sum, the scale and the softmax.",
    attempt: "Find the few numbers that make a score large, then select Gradients to see what flows back to the query.",
    derivations: ["attention", "linear"],
  },
  train: {
    see: "The model of this page learning from random weights: the loss after each update, and the attention maps of the page's text.",
    attempt:
      "Press One update: forward computes the loss of a batch, backward a gradient for every weight, Adam a step for each. Then train, and watch the maps change.",
    derivations: ["cross_entropy"],
  },
  tape: {
    see: "Every operation that led to the loss, in recording order; backward runs through the same list from the end.",
    attempt: "Press Backward, then Step: each operation turns the gradient of its output into gradients of its inputs.",
    derivations: ["linear", "embedding", "cross_entropy"],
  },
  softmax: {
    see: "One row of weights and its gradient, computed term by term and compared with the tape.",
    attempt: "Compare g with dx: only the difference from the row's mean Σ is passed on, times p.",
    derivations: ["softmax"],
  },
  layernorm: {
    see: "One row through LayerNorm and back: the gradient loses its mean and its part along x̂.",
    attempt: "Choose another row and see which of the two sums, mean or x̂, takes more away.",
    derivations: ["layer_norm"],
  },
  output: {
    see: "What the model predicts, the likeliest first and the target of the loss framed, and the resulting loss.",
    attempt: "Select the position with the longest bar: its gradient p − y is where backward starts.",
    derivations: ["cross_entropy", "softmax"],
  },
  activation: {
    see: "The units between the two linear layers of a feed-forward block, and how much gradient each passes.",
    attempt:
      "Count the units above 0, then select another token: which units become active, and which have the largest gradient?",
    derivations: ["linear"],
  },
  rotary: {
    see: "Pairs of a query's columns, rotated by an angle that grows with the position; backward rotates the gradient back.",
    attempt: "Step through the rows: the first pair rotates fast, the last hardly at all.",
    derivations: ["attention"],
  },
  nudge: {
    see: "The change of the loss that a gradient predicts (g times the change of one value), and the true change.",
    attempt:
      "Change the value a little, then a lot: where do the two diverge? Then ablate a head: did the gradient predict the effect?",
    derivations: ["softmax", "attention"],
  },
  relative: {
    see: "One query's relative positions: what two learned tables add to its scores and values, by distance, and their gradients.",
    attempt:
      "Step through the queries: the same row of a table serves every pair at its distance. Which distances have the largest gradient?",
    derivations: ["attention"],
  },
  runs: {
    see: "The same text in several runs: the weights of one head, the losses and the likeliest tokens, side by side with their differences.",
    attempt:
      "Find the position whose loss changed most, then the head whose weights did; with more than two runs, press Play.",
    derivations: ["attention", "cross_entropy"],
  },
  patching: {
    see: "The model reads a corrupted text; each cell restores the output of one layer or head at one token from the clean run.",
    attempt:
      "Follow the cells near 1 from layer to layer: this is the path of the difference between the texts to the output.",
    derivations: ["attention"],
  },
  gradcheck: {
    see: "Every gradient compared with finite differences in double precision: backward checked against forward.",
    attempt: "Find the largest error: to how many digits do backward and finite differences agree?",
    derivations: ["linear"],
  },
};

export const glossary: [string, string][] = [
  ["ablation", "Removing a head or a part of it on purpose, to see how the loss changes."],
  ["activation", "A value that the model computes, as opposed to a parameter, which it stores."],
  [
    "Adam",
    "An update rule: the running mean of a parameter's gradient, divided by its running size, times the learning rate.",
  ],
  [
    "attention weight",
    "How much of a key's value goes into a query's output, p. A row of weights is a softmax and sums to 1. Also: probability.",
  ],
  [
    "backward",
    "The pass from the loss back to everything that led to it: each operation turns the gradient of its output into gradients of its inputs.",
  ],
  [
    "chain rule",
    "If y is computed from x and L from y, then dL/dx = Σ dL/dy · dy/dx. Backward applies it operation by operation.",
  ],
  ["checkpoint", "A model saved during training; several in a row make a film."],
  ["context", "The output of a head for one query: the values of all keys, weighted and summed."],
  [
    "contribution",
    "The gradient that one operation sends to one of its inputs. The contributions of all operations add up to the gradient.",
  ],
  ["cross-attention", "Queries from one text (the translation so far) attend to keys from another (the source)."],
  [
    "cross-entropy",
    "The loss of a prediction: −ln of the probability that the model gave to the correct token. 0 if that was 1.",
  ],
  ["embedding", "The row of numbers that stands for a token."],
  [
    "feed-forward",
    "Two layers that work on each token by itself: a matrix, a function that bends, and a second matrix.",
  ],
  ["forward", "The pass from the tokens to the loss, operation by operation, recorded on the tape."],
  [
    "gradient",
    "dL/dx: the change of the loss for a small change of x, divided by that change. Its sign gives the direction, its size the steepness.",
  ],
  ["head", "One of several attentions in a layer, each with its own queries, keys and values."],
  [
    "Jacobian",
    "The matrix of all derivatives dyᵢ/dxⱼ of an operation. Backward multiplies a gradient by it without ever storing it.",
  ],
  ["key", "A vector for each token that queries are compared with."],
  ["LayerNorm", "Normalizes each row to mean 0 and variance 1, then scales and shifts it with learned parameters."],
  [
    "leaf",
    "A tensor that no operation on the tape computed: a parameter, an input or a constant. Training uses the gradients of parameters.",
  ],
  ["learning rate", "η, the factor between a gradient and the change of a parameter in an update."],
  ["logit", "The score of a token before the softmax turns all scores into probabilities."],
  ["loss", "A number that measures how wrong the model is; for a token, −ln of the probability of the correct one."],
  ["mask", "Marks keys that a query must not see: their scores become −∞, their weights 0."],
  ["nudge", "A change of one value with everything else fixed, to check what its gradient predicts."],
  [
    "patching",
    "Copying one activation from one run into another, to see how much of the difference between the two passes through it.",
  ],
  [
    "parameter",
    "A value that training updates, in the simplest case by subtracting the learning rate times the gradient.",
  ],
  ["query", "A vector for each token that is compared with every key."],
  ["residual", "A layer's input added to its output, which gives gradients a direct path back."],
  ["RMSNorm", "Like LayerNorm, without subtracting the mean: divides each row by the root of its mean square."],
  [
    "score",
    "Dot product of query and key, times 1/√D: large if they match. The softmax of a row of scores gives the weights.",
  ],
  ["softmax", "exp of each number divided by the sum of all: positive, and the row sums to 1."],
  ["tape", "The list of all operations of a forward pass, with what each needs for backward."],
  ["tensor", "A table of numbers with any number of axes: a number, a row, a matrix, a stack of matrices."],
  [
    "token",
    "A piece of text with its own index in the vocabulary. In byte-level vocabularies, Ġ stands for a space and Ċ for a new line; in others, ## continues the previous token.",
  ],
  ["value", "The vector that a token contributes to queries that attend to it."],
  ["vector", "A row of numbers. Each token is one, and every layer changes it."],
];
