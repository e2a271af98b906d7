import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { brief, bytes, compact, digits, duration, durationTicks, exact, fourDigits, integer, microseconds, percent } =
  await load("shared/format.ts", "shared/numbers.ts");
const { cutAtWord } = await load("shared/dom.ts");
const { powerOfTen, resolving, subscript, tabular } = await load("shared/numbers.ts");

test("a number has four digits, or a power of ten if it is very small or large", () => {
  assert.deepEqual([0, 0.12345, 12.345, 123.45, 1234.5, 1e6, 9.99e-4, -0.5].map(fourDigits), [
    "0",
    "0.1235",
    "12.35",
    "123.5",
    "1,235",
    "1.00e+6",
    "9.99e-4",
    "-0.5000",
  ]);
  assert.deepEqual([-0.5, NaN, Infinity, -Infinity].map(brief), ["−0.5000", "NaN", "∞", "−∞"]);
});

test("a float32 is written with the fewest digits that round-trip", () => {
  assert.deepEqual([Math.fround(0.1), 0.5, Math.fround(1 / 3), 16777217, NaN].map(digits), [
    "0.1",
    "0.5",
    "0.33333334",
    "16777217",
    "NaN",
  ]);
  assert.equal(Math.fround(Number(digits(Math.fround(Math.PI)))), Math.fround(Math.PI));
  assert.equal(exact(-0.25), "−0.25");
});

test("a number in a column has six decimals, or a power of ten", () => {
  assert.deepEqual([0, 1.5, -1e-4, 9e-5, 1e5, Infinity].map(tabular), [
    "0.000000",
    "1.500000",
    "−0.000100",
    "9.0000e−5",
    "1.0000e+5",
    "∞",
  ]);
});

test("two numbers that are nearly the same are written with enough digits to tell them apart", () => {
  assert.equal(resolving(-0.014773, -0.0000123), "−0.0147730");
  assert.equal(resolving(0.5, 0.4), "0.5000");
  assert.equal(resolving(5e-4, 1e-6), "5.0000e−4");
  assert.equal(resolving(0.5, 0), "0.5000");
});

test("counts and shares are short, and small ones plain decimals", () => {
  assert.deepEqual([12500, 3e6, 2e9, 0.98, 0.0012345].map(compact), ["12.5k", "3M", "2B", "0.98", "0.00123"]);
  assert.deepEqual([integer(1234.6), percent(0.1234)], ["1,235", "12.3%"]);
  assert.deepEqual([powerOfTen(-13), powerOfTen(2), subscript(10)], ["10⁻¹³", "10²", "₁₀"]);
  assert.deepEqual([bytes(999), bytes(1500), bytes(2.5e6)], ["999 B", "1.5 kB", "2.5 MB"]);
  assert.deepEqual([microseconds(null), microseconds(12.34), microseconds(1500)], ["–", "12.3 µs", "1.50 ms"]);
});

test("durations are minutes and seconds, with hours if there are any", () => {
  assert.deepEqual([6.6, 754, 3723].map(duration), ["0:07", "12:34", "1:02:03"]);
});

test("ticks of a time axis are round", () => {
  assert.deepEqual(durationTicks(0, 100, 5), [0, 30, 60, 90]);
  assert.deepEqual(durationTicks(61, 240, 4), [120, 180, 240]);
  assert.deepEqual(durationTicks(0, 864000, 5), [0, 172800, 345600, 518400, 691200, 864000]);
});

test("a long title is cut between words, and a single long word at the length", () => {
  assert.equal(cutAtWord("as it is", 8), "as it is");
  assert.equal(cutAtWord("the cat sat on the mat", 13), "the cat sat…");
  assert.equal(cutAtWord(`a ${"b".repeat(30)}`, 10), "a bbbbbbb…");
});
