import { oneOf } from "../shared/example.ts";

export interface Needle {
  /** The code that holds at the end of the log. */
  readonly code: string;
  /** 1-based. */
  readonly line: number;
}

const CHARACTERS = 5_000_000;
const PLACES = ["pier 3", "the cold store", "the ferry dock", "gate 12", "the grain silo"];
const EVENTS = [
  "crane 4 lifted a container of oranges",
  "the tide gauge was read twice and agreed",
  "a truck waited for its papers",
  "the lamps were lit earlier than planned",
  "two pallets were counted again",
];
const HOUSES = ["customs house", "pilot house", "weigh house", "net house"];

/** The log of a harbour. Codes of vaults change in it, and only the last one of each vault opens it. */
export function harbourLog(random: () => number): { readonly text: string; readonly needle: Needle } {
  const lines: string[] = [];
  for (let size = 0; size < CHARACTERS; ) {
    const line = `${timeOf(lines.length)} ${oneOf(PLACES, random)}: ${oneOf(EVENTS, random)}, entry ${lines.length}`;
    lines.push(line);
    size += line.length + 1;
  }
  const newCode = () => String(10_000 + Math.floor(random() * 90_000));
  const note = (house: string, code: string) =>
    `note of the watch: the vault in the ${house} opens with ${code} from now on`;
  // Later codes of other vaults, and earlier ones of the same, are there to be confused with it.
  for (const house of HOUSES) {
    for (let i = 0; i < 5; i++) lines[Math.floor(random() * lines.length * 0.6)] = note(house, newCode());
  }
  const at = Math.floor(lines.length * (0.7 + random() * 0.2));
  const code = newCode();
  lines[at] = note("customs house", code);
  for (const house of HOUSES.slice(1)) lines[at + 1 + Math.floor(random() * 1000)] = note(house, newCode());
  return { text: `${lines.join("\n")}\n`, needle: { code, line: at + 1 } };
}

function timeOf(entry: number): string {
  return new Date(Date.UTC(2031, 0, 1) + entry * 60_000).toISOString().slice(0, 16).replace("T", " ");
}
