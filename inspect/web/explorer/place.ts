// Where the reader is, carried over to other data: modules, tokens and operations by what they are and not by number.
import type { App } from "./app";
import type { Data, TapeNode } from "./data";
import type { State, Subject } from "./state";
import { Replay } from "./tape/replay";

type Known = Pick<App, "data" | "state" | "tokens" | "block" | "norms" | "layers" | "prediction">;

// Name of an entry of a list among those of the same name: its n-th occurrence.
function nth<T>(list: T[], wanted: T, name: (entry: T) => string): [string, number] {
  const known = name(wanted);
  return [known, list.slice(0, list.indexOf(wanted)).filter((entry) => name(entry) === known).length];
}
function find<T>(list: T[], [known, occurrence]: [string, number], name: (entry: T) => string): T | undefined {
  return list.filter((entry) => name(entry) === known)[occurrence];
}

// Operations without those that an edit added, which would shift the count.
function unedited({ tape }: Data): TapeNode[] {
  const known = tape.nodes.filter(({ recorded }) => typeof recorded === "number");
  return known.length > 0 ? known : tape.nodes;
}

function operationIn(before: Known, after: Known, id: number): number | null {
  const all = unedited(before.data);
  const node = all.find((one) => one.id === id);
  const name = ({ operation, module }: TapeNode) => `${module} ${operation}`;
  return node ? (find(unedited(after.data), nth(all, node, name), name)?.id ?? null) : null;
}

export function subjectIn(before: Known, after: Known, subject: Subject | null): Subject | null {
  if (!subject) return null;
  if ("node" in subject) {
    const node = operationIn(before, after, subject.node);
    return node === null ? null : { node };
  }
  const leaf = before.data.tape.leaves[subject.leaf];
  if (!leaf) return null;
  const name = (one: typeof leaf) => `${one.kind} ${one.name}`;
  const found = find(after.data.tape.leaves, nth(before.data.tape.leaves, leaf, name), name);
  return found ? { leaf: after.data.tape.leaves.indexOf(found) } : null;
}

// The player's step of the same operation, forward or backward.
function stepIn(before: Known, after: Known, step: number | null): number | null {
  if (step === null) return null;
  const played = new Replay(before.data, before.state.output);
  const found = played.at(step);
  const id = found ? operationIn(before, after, found.node.id) : null;
  if (id === null) return null;
  if (step < played.recorded) return after.data.tape.nodes.findIndex((node) => node.id === id);
  return new Replay(after.data, before.state.output).backwardStep(id) ?? null;
}

// The tokens that State.row counts in the view.
function rowNames(app: Known, { view }: State): string[] {
  if (view === "output" || view === "runs") {
    const prediction = app.prediction();
    const tokens = app.tokens(prediction?.text ?? null);
    return prediction?.targets.map((_, row) => tokens[prediction.start + row] ?? "") ?? [];
  }
  if (view === "layernorm")
    return app.tokens(app.norms().find(({ module }) => module === app.state.norm)?.text ?? null);
  if (view === "activation" || view === "rotary")
    return app.tokens(app.layers(view).find(({ module }) => module === app.state.layer)?.text ?? null);
  return app.tokens(app.block()?.rows ?? null);
}

// The same token's row; null if the new text does not have it.
function rowIn(before: string[], after: string[], row: number | null): number | null {
  const name = row === null ? undefined : before[row];
  if (row === null || name === undefined || after[row] === name) return row;
  const found = after.indexOf(name);
  return found < 0 ? null : found;
}

// The state of `before` in the data of `after`, whose own state must have the same view and modules.
export function carried(before: Known, after: Known): State {
  const { state } = before;
  const output = after.data.outputs.findIndex(({ name }) => name === before.data.outputs[state.output]?.name);
  return {
    ...state,
    row: rowIn(rowNames(before, state), rowNames(after, state), state.row),
    subject: subjectIn(before, after, state.subject),
    step: stepIn(before, after, state.step),
    output: Math.max(0, output),
  };
}
