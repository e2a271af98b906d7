// Rules for the pages (TypeScript, with type information) and for the scripts that build and check them.
// Run from the repository root, which is the base of the patterns: npm run lint
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import eslint from "@eslint/js";
import { defineConfig } from "eslint/config";
import globals from "globals";
import tseslint from "typescript-eslint";

const web = dirname(fileURLToPath(import.meta.url));

export default defineConfig(
  { ignores: ["**/node_modules/", "inspect/web/dist/"] },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  eslint.configs.recommended,
  {
    files: ["inspect/web/**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: web } },
    rules: {
      // Numbers print in a template as they should; everything else is still an error.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // () => this.update() as a handler is clear, and its value is not used.
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // noUncheckedIndexedAccess makes every element of an array possibly undefined, also where the loop gives the bound.
      "@typescript-eslint/no-non-null-assertion": "off",
    },
  },
  {
    files: ["**/*.mjs"],
    extends: [tseslint.configs.strict, tseslint.configs.stylistic],
    // What page.evaluate() is given runs in the page.
    languageOptions: { globals: { ...globals.node, ...globals.browser } },
    rules: { "no-undef": "error" },
  },
);
