// Promise.all over chains that each wait twice: the order in which the second calls are made depends on the answers' order.
const ask = (text) => llm_query(text, { tools: [] });
const lengths = new Map();
async function chain(name) {
  const first = await ask(`all: ${name} first`);
  const second = await ask(`all: ${name} second, after ${first.slice(-3)}`);
  lengths.set(name, first.length + second.length);
  return { name, first, second };
}
print("before");
const chains = await Promise.all(["red", "green", "blue", "white"].map(chain));
print("chains:", chains.length);
const nested = await Promise.all([
  Promise.all([ask("all: left a"), ask("all: left b")]),
  (async () => [await ask("all: right a"), await ask("all: right b")])(),
  7,
]);
print("nested:", nested.flat().length);
result = { chains, nested, lengths: [...lengths].sort(([a], [b]) => (a < b ? -1 : 1)) };
