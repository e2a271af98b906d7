// Opens the page: shows its data, and starts the engine if the page contains one.
import { element, pageData } from "../shared/dom";
import { onThemeChange } from "../shared/colors";
import type { Data, Live } from "./data";
import { unpacked } from "./live/engine";
import { startLive } from "./live/start";
import { Mounted } from "./mount";
import source from "live:worker";

// A page with an engine has its data gzipped.
async function recorded(): Promise<Data> {
  const found = pageData() as Data | { live: Live; packed: string };
  if (!("packed" in found)) return found;
  const data = JSON.parse(new TextDecoder().decode(await unpacked(found.packed))) as Data;
  return { ...data, live: found.live };
}

function open(data: Data) {
  const host = element("div", { class: "mounted" });
  const page = document.getElementById("page")!;
  page.replaceChildren(host);
  let mounted: Mounted | null = null;

  const live = data.live
    ? startLive(data, data.live, source, {
        mount: (next) => mount(next),
        mounted: () => mounted!,
      })
    : null;

  // Replaces the data, at the reader's place.
  function mount(next: Data) {
    mounted = new Mounted(next, host, live?.extensions, mounted ?? undefined);
  }

  mount(data);
  if (live) page.prepend(live.open());
  onThemeChange(() => mounted?.update());
  document.documentElement.dataset.ready = "true";
}

recorded().then(open, (error: unknown) => {
  document.getElementById("page")!.textContent = `This browser cannot unpack the page's data: ${String(error)}`;
});
