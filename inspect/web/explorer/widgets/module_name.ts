// A reader's name of a module or parameter, with its path in a tooltip.
import { element, visible } from "../../shared/dom";
import type { App } from "../app";
import type { Frame } from "../data";

export function moduleName(app: App, path: string): HTMLElement {
  if (path === "") return element("span", {}, "outside any module");
  return element("span", { title: path }, visible(app.nameOf(path)));
}

// A run's name, with reader's names instead of the paths of modules.
export const runName = (app: App, { name }: Frame) => visible(app.architecture.wordsIn(name));
