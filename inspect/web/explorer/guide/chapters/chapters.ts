// The chapters of the guided tour. Steps that a model does not have are left out, and so are chapters without steps.
import { backward } from "./backward";
import { forward } from "./forward";
import { loss } from "./loss";
import type { Chapter, Step } from "./step";
import { storyOf, type Story } from "./story";
import { update, type Rates } from "./update";
import { whatIf } from "./what_if";

const kept = (steps: (Step | null)[]) => steps.filter((step) => step !== null);

export function chaptersOf(story: Story, rates: Rates): Chapter[] {
  const chapters = [
    { id: "forward", name: "Forward", backward: false, steps: kept(forward(story)) },
    { id: "loss", name: story.loss ? "The loss" : "The output", backward: false, steps: kept(loss(story)) },
    { id: "backward", name: "Backward", backward: true, steps: kept(backward(story)) },
    { id: "update", name: "An update", backward: false, steps: kept(update(story, rates)) },
    { id: "what-if", name: "What if", backward: false, steps: kept(whatIf(story)) },
  ];
  return chapters.filter(({ steps }) => steps.length > 0);
}

export { storyOf };
