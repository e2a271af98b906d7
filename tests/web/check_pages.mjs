// Checks the pages in Chromium: node tests/web/check_pages.mjs TAPEFORMER [--pictures FOLDER] [--only WORDS]
// Run by scripts/check_pages.sh. The last line is "N passed, N failed".
import { finish } from "./browser.mjs";

await import("./check_units.mjs");
await import("./check_run_report.mjs");
await import("./check_explorer.mjs");
await import("./check_overview.mjs");
await import("./check_layers.mjs");
await import("./check_lessons.mjs");
await import("./check_chapters.mjs");
await import("./check_runs.mjs");
await import("./check_layout.mjs");
await import("./check_live.mjs");
await finish();
