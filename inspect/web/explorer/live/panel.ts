// What is below a view in a page that computes: the numbers of a query to edit, and the effect of the edits.
import type { App } from "../app";
import type { Attention } from "../data";
import { element } from "../../shared/dom";
import { brief, exact } from "../../shared/numbers";
import { tensor } from "../tensor";
import { shortened } from "../widgets/switches";
import { comparison } from "./comparison";
import type { Edits } from "./edits";
import type { Session } from "./session";

export function livePanel(session: Session, edits: Edits, app: App): HTMLElement | null {
  if (typeof session.engine === "object") return null;
  const parts = {
    head: () => [headPanel(session, edits, app)],
    overview: () => [comparison(session, app), positions(session, edits, app)],
    output: () => [comparison(session, app)],
  }[app.state.view as "head" | "overview" | "output"] as (() => (HTMLElement | null)[]) | undefined;
  return parts ? element("div", {}, ...parts()) : null;
}

function button(words: string, click: (button: HTMLElement) => void, attributes: Record<string, string> = {}) {
  const made = element("button", { type: "button", ...attributes }, words);
  made.addEventListener("click", () => click(made));
  return made;
}

// Temperature and ablation of a head; scores, weights and mask of the selected query.
function headPanel(session: Session, edits: Edits, app: App): HTMLElement | null {
  const block = app.block();
  if (!block) return null;
  const { module } = block;
  const head = app.head();
  const { row } = app.state;
  const temperature = (value: number) => ({ kind: "temperature" as const, module, head, value });
  const ablate = { kind: "ablate" as const, module, head };
  const ablated = session.known(ablate) !== undefined;
  const warmth = session.known(temperature(1))?.value ?? 1;
  return element(
    "section",
    { class: "edit-query", "aria-label": "Edit this head" },
    element("h2", {}, `Edit head ${head}`),
    element(
      "div",
      { class: "edit-buttons" },
      button(`Temperature ${exact(warmth)}`, (at) => edits.openNumber(at, warmth, [0.1, 4], 1, temperature)),
      button(
        ablated ? `Head ${head} is ablated` : `Ablate head ${head}`,
        () => (ablated ? session.removeEdit(ablate) : session.addEdit(ablate)),
        { "aria-pressed": String(ablated) },
      ),
      row !== null && session.fixedPositions === null && positionButton(session, edits, app, block.rows, row),
    ),
    row !== null && session.fixedPositions !== null && unmovable(session.fixedPositions),
    row === null
      ? element(
          "p",
          { class: "muted" },
          "Select a query (click its name) to change its scores and weights, or to hide a key.",
        )
      : queryTable(session, edits, app, block, head, row),
  );
}

function queryTable(session: Session, edits: Edits, app: App, block: Attention, head: number, query: number) {
  const { scores, probabilities, mask: masked } = block.values;
  const number = (packed: typeof scores, key: number, name: "score" | "weight") => {
    const value = tensor(packed)?.row(query, head)[key] ?? NaN;
    const edited = session.known({ kind: name, module: block.module, head, query, key, value });
    const cell = element(
      "td",
      { class: edited ? "number edited" : "number", "data-column": name, "data-value": value, title: exact(value) },
      brief(value),
    );
    edits.offer(cell, packed, () => [head, query, key]);
    return cell;
  };
  const rows = app.tokens(block.columns).map((token, key) => {
    const name = shortened(token, 18);
    const place = { kind: "mask" as const, module: block.module, query, key };
    const hidden = session.known(place) !== undefined || session.known({ ...place, head }) !== undefined;
    // Also an edit of the page hides keys by the mask.
    const never = !hidden && tensor(masked)?.row(query, head)[key] === -Infinity;
    const mask = button(
      hidden ? "Show" : "Hide",
      () => edits.toggleMask({ module: block.module, heads: [head], query, key }),
      { "aria-pressed": String(hidden), "aria-label": `Hide “${name}” from the query` },
    );
    return element(
      "tr",
      { "data-index": key },
      element("th", { scope: "row", dir: "auto" }, name),
      ...(never
        ? [
            element("td", { class: "number muted" }, "–"),
            element("td", { class: "number muted" }, "0"),
            element("td", { class: "muted" }, "hidden by the model"),
          ]
        : [number(scores, key, "score"), number(probabilities, key, "weight"), element("td", {}, mask)]),
    );
  });
  const heading = ["key", "score", "weight", "mask"].map((name, index) =>
    element("th", { scope: "col", class: index === 1 || index === 2 ? "number" : "" }, name),
  );
  return element(
    "div",
    {},
    element(
      "p",
      { class: "muted" },
      `Query “${shortened(app.tokens(block.rows)[query] ?? "", 18)}”. Click a number to change it, or drag it sideways in the picture. An edited weight leaves the others as they are; an edited score does not.`,
    ),
    element(
      "div",
      { class: "scroll" },
      element(
        "table",
        { class: "numbers" },
        element("thead", {}, element("tr", {}, ...heading)),
        element("tbody", {}, ...rows),
      ),
    ),
  );
}

function positionButton(session: Session, edits: Edits, app: App, text: number, token: number): HTMLElement {
  const made = (position: number) => ({ kind: "position" as const, text, token, position: Math.round(position) });
  const tokens = app.tokens(text);
  const now = session.known(made(0))?.position ?? token;
  return button(
    `${shortened(tokens[token] ?? "", 14)} at ${now}`,
    (at) => edits.openNumber(at, now, [0, Math.max(tokens.length + 4, now)], token, made),
    { "aria-label": `Position of “${tokens[token] ?? ""}”: ${now}`, "aria-pressed": String(now !== token) },
  );
}

const unmovable = (why: string) => element("p", { class: "muted" }, `No token can be moved. ${why}.`);

// The tokens with their positions, each of which can be moved.
function positions(session: Session, edits: Edits, app: App): HTMLElement {
  return element(
    "details",
    { class: "positions", open: session.edits.some(({ kind }) => kind === "position") },
    element("summary", {}, "Move a token to another position"),
    session.fixedPositions !== null && unmovable(session.fixedPositions),
    ...app.data.texts.map(({ name, image }, text) =>
      image || session.fixedPositions !== null
        ? element("p")
        : element(
            "div",
            { class: "edit-buttons", role: "group", "aria-label": name },
            element("span", { class: "muted" }, name),
            ...app.tokens(text).map((_, token) => positionButton(session, edits, app, text, token)),
          ),
    ),
  );
}
