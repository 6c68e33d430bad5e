import { BULLET, type Shift, shifting } from "./labels.ts";
import type { BlockKind } from "./office.ts";

/** A paragraph that is open, or waits for the one in which it lies. */
interface Paragraph {
  readonly kind: BlockKind;
  said: string;
  /** The last character that was put. */
  end: string;
  /** It ends with a space, or has not begun: a further space is not seen. */
  isSpaced: boolean;
  readonly shift: ReturnType<typeof shifting>;
  /** Writes the paragraphs and rows of boxes in it, behind it. */
  behind?: (() => void)[];
}

/** Writes a paragraph. */
type Write = (said: string, kind: BlockKind) => void;

/** Paragraphs that may lie in each other: {@link openParagraphs}. */
export interface OdfParagraphs {
  /** The number of those that are open. */
  depth(): number;
  begin(kind: BlockKind): void;
  end(): void;
  /** Puts words into the innermost one; false if none is open. White space of several characters is one space. */
  put(words: string, shift?: Shift): boolean;
  /** Puts spaces, tabs and line breaks as they are. */
  putPlain(words: string): boolean;
  /** Puts words, as a paragraph if none is open. */
  say(words: string): void;
  /** Does something behind the paragraphs that are open. */
  later(work: () => void): void;
  /** Gives the paragraphs that begin from here on to another one, such as a note or a cell. */
  holdIn(write?: Write): void;
  release(): void;
}

function behind(host: Paragraph, work: () => void): void {
  host.behind ??= [];
  host.behind.push(work);
}

/** Those of a box, which lies in a paragraph, are written behind that. */
export function openParagraphs(write: Write): OdfParagraphs {
  const open: Paragraph[] = [];
  const holders: { readonly within: number; readonly write: Write }[] = [];
  const holder = () => holders.at(-1) ?? { within: 0, write };
  const finish = ({ said, kind, behind = [] }: Paragraph) => {
    const isItem = kind.label !== undefined && !["", BULLET].includes(kind.label) && !kind.heading;
    if (said.trim() !== "" || isItem) holder().write(said.trimEnd(), kind);
    for (const work of behind) work();
  };
  /** The paragraph that takes words. One outside of a note or cell does not. */
  const innermost = () => (open.length > holder().within ? open.at(-1) : undefined);
  const add = (words: string, isSpaced: boolean) => {
    const last = innermost();
    if (!last) return false;
    last.said += words;
    last.end = words.slice(-1) || last.end;
    last.isSpaced = isSpaced;
    return true;
  };
  const begin = (kind: BlockKind) => {
    const paragraph: Paragraph = { kind, said: "", end: "", isSpaced: true, shift: shifting() };
    const host = open[holder().within];
    if (host) behind(host, () => finish(paragraph));
    open.push(paragraph);
  };
  const end = () => {
    const last = open.pop();
    if (last && open.length === holder().within) finish(last);
  };
  return {
    depth: () => open.length,
    begin,
    end,
    put(given, shift = "") {
      const { isSpaced = false, end = "", shift: shifted } = innermost() ?? {};
      const spaced = given.replace(/[ \t\r\n]{2,}|[\t\r\n]/g, " ");
      const words = isSpaced && spaced.startsWith(" ") ? spaced.slice(1) : spaced;
      return add(shifted?.(end, words, shift) ?? "", words === "" ? isSpaced : words.endsWith(" "));
    },
    putPlain: (words) => add(words, false),
    say(words) {
      if (add(words, false)) return;
      begin({});
      add(words, false);
      end();
    },
    later(work) {
      const [outermost] = open;
      if (outermost) behind(outermost, work);
      else work();
    },
    holdIn: (held = write) => holders.push({ within: open.length, write: held }),
    release: () => holders.pop(),
  };
}
