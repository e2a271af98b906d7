// Widths of texts in letters, for labels whose place is reserved before they are drawn.
const wideLetter = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60]/u;
const emoji = /\p{Emoji_Presentation}/u;
const noLetter = /[\p{M}\p{Cf}]/u;

// Width of a character relative to a letter: two for ideographs and emoji, none for marks drawn over a letter.
export function letterWidth(character: string): number {
  if (noLetter.test(character)) return 0;
  return wideLetter.test(character) || emoji.test(character) ? 2 : 1;
}

// Width of a text in letters.
export const lettersWide = (text: string) =>
  Array.from(text).reduce((sum, character) => sum + letterWidth(character), 0);
