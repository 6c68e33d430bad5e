/** A fenced block of a text. */
export interface Block {
  /** In lower case; empty if the fence names none. */
  readonly language: string;
  readonly code: string;
  /** Offset of the opening fence. */
  readonly start: number;
  /** Offset behind the closing fence. */
  readonly end: number;
}

/** The fenced blocks of a text. A fence that is not closed ends with the text. */
export function blocksIn(text: string): Block[] {
  const blocks: Block[] = [];
  const opening = /^ {0,3}(`{3,}|~{3,}(?!~))([^\n\r\u2028\u2029`]*)\r?(?:\n|$)/gm;
  const closing = /^ {0,3}(`{3,}|~{3,})[ \t]*$/gm;
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const [, fence = "", info = ""] = match;
    const [language = ""] = info.trim().split(/\s/, 1);
    const from = opening.lastIndex;
    closing.lastIndex = from;
    let close = closing.exec(text);
    while (close?.[1] !== undefined && !close[1].startsWith(fence)) close = closing.exec(text);
    const end = close ? close.index + close[0].length : text.length;
    const code = text.slice(from, close?.index ?? text.length);
    blocks.push({ language: language.toLowerCase(), code, start: match.index, end });
    opening.lastIndex = end;
  }
  return blocks;
}

/** True for a block that is a cell: it is JavaScript, or names no language. */
export const isCell = ({ language }: Pick<Block, "language">): boolean => LANGUAGES.has(language);

const LANGUAGES: ReadonlySet<string> = new Set(["", "js", "javascript", "ts", "typescript", "repl"]);
