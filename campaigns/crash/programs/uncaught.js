// fails: js_error
// An error that nobody catches ends the cell; what it did before is part of the answer.
const ask = (text) => llm_query(text, { tools: [] });
memory.put("before", 1);
class Wrong extends Error {
  name = "Wrong";
}
async function inner(depth) {
  const answer = await ask(`uncaught: depth ${depth}`);
  print("depth", depth, answer);
  if (depth === 3) throw new Wrong(`at ${depth}: ${answer}`);
  return inner(depth + 1);
}
await inner(1);
