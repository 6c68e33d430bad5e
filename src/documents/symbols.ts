import { codePoint } from "dingbat-to-unicode";

const PRIVATE = /[\ue000-\uf8ff]/g;
/** The length of a font's name that is told. */
const MOST_NAME = 60;
const FONTS = /^(symbol|webdings|wingdings( [23])?)$/i;

/**
 * Writes the characters of a font of symbols as Unicode: `✔`, or `[Font F0FE]`, which is told,
 * where it has none.
 */
export function symbols(words: string, font: string, lose: () => void): string {
  const isSymbols = font !== "" && FONTS.test(font);
  const sign = (char: string) => {
    const code = char.charCodeAt(0);
    // Such fonts begin at F000.
    const unicode = codePoint(font, code >= 0xf000 && code <= 0xf0ff ? code - 0xf000 : code);
    if (unicode || code < 0xe000) return unicode?.string ?? char;
    lose();
    return `[${`${font.slice(0, MOST_NAME)} `.trimStart()}${code.toString(16).toUpperCase()}]`;
  };
  return words.replace(isSymbols ? /[^\ud800-\udfff]/g : PRIVATE, sign);
}
