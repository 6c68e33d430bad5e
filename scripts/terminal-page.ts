/** What a stretch of text looks like. */
interface Look {
  readonly colour: string | null;
  readonly ground: string | null;
  readonly bold: boolean;
  readonly italic: boolean;
}

const PLAIN: Look = { colour: null, ground: null, bold: false, italic: false };
const BASE = ["#000", "#c33", "#3a3", "#a83", "#36c", "#a3a", "#3aa", "#ccc"];

/** A page that shows a screen as `tmux capture-pane -e` gives it, for a browser to make a picture of. */
export function terminalPage(screen: string): string {
  const lines = spansOf(screen.trimEnd());
  const style = `body { margin: 0; background: #18181e } pre { margin: 0; padding: 14px 18px; color: #d4d4d4;
    font: 14px/1.3 "DejaVu Sans Mono", monospace; width: max-content }
    span { padding: 1px 0 }`;
  return `<!doctype html><meta charset="utf-8"><style>${style}</style><pre>${lines}</pre>`;
}

/** A look goes on over the ends of lines. */
function spansOf(screen: string): string {
  let look = PLAIN;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const parts = screen.split(/\u001b\[([\d;:]*)m/);
  return parts
    .map((part, at) => {
      if (at % 2 === 0) return part === "" ? "" : `<span style="${styleOf(look)}">${escaped(part)}</span>`;
      look = changed(look, part.split(/[;:]/).map(Number));
      return "";
    })
    .join("");
}

/** The look after one escape sequence (SGR); what is not known is passed over. */
function changed(look: Look, codes: readonly number[]): Look {
  const [code = 0, ...rest] = codes;
  const on = (next: Look, taken = 0) => (rest.length > taken ? changed(next, rest.slice(taken)) : next);
  if (code === 38 || code === 48) {
    const [kind, first = 0, green = 0, blue = 0] = rest;
    const colour = kind === 2 ? `rgb(${first}, ${green}, ${blue})` : indexed(first);
    return on(code === 38 ? { ...look, colour } : { ...look, ground: colour }, kind === 2 ? 4 : 2);
  }
  if (code === 0) return on(PLAIN);
  if (code === 1 || code === 22) return on({ ...look, bold: code === 1 });
  if (code === 3 || code === 23) return on({ ...look, italic: code === 3 });
  if (code === 7) return on({ ...look, colour: "#18181e", ground: "#d4d4d4" });
  if (code === 39) return on({ ...look, colour: null });
  if (code === 49) return on({ ...look, ground: null });
  if (code >= 30 && code <= 37) return on({ ...look, colour: indexed(code - 30) });
  return on(code >= 40 && code <= 47 ? { ...look, ground: indexed(code - 40) } : look);
}

/** Colours from the 256 that terminals have. */
function indexed(n: number): string {
  if (n < 16) return BASE[n % 8] ?? "#ccc";
  if (n >= 232) return `rgb(${[0, 0, 0].map(() => 8 + (n - 232) * 10).join(", ")})`;
  const level = (of: number) => (of === 0 ? 0 : 55 + of * 40);
  return `rgb(${[36, 6, 1].map((step) => level(Math.floor((n - 16) / step) % 6)).join(", ")})`;
}

function styleOf({ colour, ground, bold, italic }: Look): string {
  const parts = [
    colour && `color: ${colour}`,
    ground && `background: ${ground}`,
    bold && "font-weight: bold",
    italic && "font-style: italic",
  ];
  return parts.filter((part) => part).join("; ");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
