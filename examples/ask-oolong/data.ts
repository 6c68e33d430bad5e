import { oneOf } from "../shared/example.ts";

export interface Complainer {
  readonly user: string;
  readonly complaints: number;
}

const MESSAGES = 2_000;
const USERS = ["ada", "ben", "cleo", "dan", "eva", "finn"];

/** No single word tells complaints from the rest, so each line must be understood. */
export const COMPLAINTS = [
  "the upload has been stuck since Monday",
  "my order never arrived",
  "search finds nothing on the phone",
  "the invoice shows the wrong sum again",
  "I was charged twice and nobody answers",
  "since the update the app closes by itself",
];
const OTHERS = [
  "the upload works again, thank you",
  "where can I see my last order",
  "please add a second owner to the account",
  "search is much faster on the phone now",
  "which day does the invoice come",
  "nothing to complain about, it was only a question",
];

/** Messages of users, a line each, and who wrote the most complaints. Nobody else wrote as many. */
export function inbox(random: () => number): { readonly text: string; readonly truth: Complainer } {
  const counts = new Map(USERS.map((user) => [user, 0]));
  const lines: string[] = [];
  const write = (user: string, isComplaint: boolean) => {
    if (isComplaint) counts.set(user, (counts.get(user) ?? 0) + 1);
    const saying = oneOf(isComplaint ? COMPLAINTS : OTHERS, random);
    lines.push(`#${String(lines.length + 1).padStart(5, "0")} user=${user} text=${saying}`);
  };
  for (let i = 0; i < MESSAGES; i++) write(oneOf(USERS, random), random() < 0.4);
  const [[user, most] = ["", 0], [, second] = ["", 0]] = [...counts].sort(([, a], [, b]) => b - a);
  if (most === second) write(user, true);
  return { text: `${lines.join("\n")}\n`, truth: { user, complaints: counts.get(user) ?? 0 } };
}
