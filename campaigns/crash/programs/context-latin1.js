// flags: -c latin1
// P is copied into the guest, and slices of it are kept, before and between awaits.
const ask = (text) => llm_query(text, { tools: [] });
const first = await ask(`context-latin1: ${stats().chars} characters`);
const slices = [P.slice(0, 40), P.slice(-40)];
const half = P.slice(P.length >> 1);
for (let i = 0; i < 3; i++) {
  const at = find(`entry ${i * 700} `).matches[0]?.[0] ?? 0;
  slices.push(P.slice(at, at + 50));
  print(await ask(`context-latin1: ${P.slice(at, at + 20)}`), P.length);
}
const words = new Map();
for (const [word] of P.matchAll(/word\d/g)) words.set(word, (words.get(word) ?? 0) + 1);
await ask("context-latin1: counted");
result = {
  first,
  slices,
  half: [half.length, half.slice(0, 20), half.endsWith(P.slice(-10))],
  words: [...words].sort(),
  docs: list_docs(),
  peeked: peek(5, 25),
  searched: search("entry", 2).map(({ start }) => start),
};
