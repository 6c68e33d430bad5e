// flags: -c utf16 -c latin1/b.txt
// The same with characters beyond Latin-1, and a second context appended.
const ask = (text) => llm_query(text, { tools: [] });
const kept = [P.length, P.slice(10, 60)];
const answer = await ask(`context-utf16: ${P.codePointAt(3)}`);
const lines = P.split("\n").filter((line) => line.includes("777"));
for (const line of lines.slice(0, 3)) {
  kept.push(await ask(`context-utf16: ${line}`));
  print(line.normalize("NFD").length, P.indexOf(line));
}
const parts = list_docs().map(({ id, start, end }) => [id, P.slice(start, end).length]);
const joined = `${P.slice(0, 1000)}${P.slice(-1000)}`;
await ask("context-utf16: joined");
result = {
  answer,
  kept,
  lines: lines.length,
  parts,
  joined: joined.length,
  last: joined.slice(-30),
  hash: stats().context_hash,
};
