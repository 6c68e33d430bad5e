/** What the placeholders stand for that are more than another name. Guests get it before the attack, in the same cell. */
const PRELUDE = `var $attack = {
  peek: (_P, start, end) => peek(start, end),
  find: (_P, pattern, flags) => find(pattern, flags).matches,
  files: () => list_docs().map((doc) => ({ path: doc.id })),
};
`;

const NAMES: readonly (readonly [placeholder: RegExp, real: string])[] = [
  [/\bpeek\((?=P,)/g, "$attack.peek("],
  [/\bfind\((?=P,)/g, "$attack.find("],
  [/\bP\.files\b/g, "$attack.files()"],
  [/\bmemory\.set\(/g, "memory.put("],
  [/\bhelpers\.define(\?\.)?\(/g, "helpers.add("],
  [/\bllm_query\.batch\?\.\(/g, "llm_query_batch("],
  [/\bmaxTokens\b/g, "max_tokens"],
  [/\btimeoutMs\b/g, "timeout_ms"],
  [/\btools:true\b/g, 'tools:["read"]'],
  // A call has no such options, and refuses what it does not know: the other options are the attack.
  [/,concurrency:v,budget:v/g, ""],
];

/** The attack's code with Belay's names. */
export function adapted(code: string): string {
  return PRELUDE + NAMES.reduce((text, [placeholder, real]) => text.replaceAll(placeholder, real), code);
}
