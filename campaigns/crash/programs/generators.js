// Generators that stand in their middle while the cell waits.
const ask = (text) => llm_query(text, { tools: [] });
const log = [];
function* count(from) {
  let step = 1;
  try {
    for (let at = from; ; at += step) {
      const sent = yield at;
      if (typeof sent === "number") step = sent;
    }
  } catch (error) {
    log.push(`caught ${error.message}`);
    yield -1;
  } finally {
    log.push(`left ${from}`);
  }
}
function* both() {
  const inner = yield* count(100);
  return inner;
}
const one = count(1);
const two = both();
const taken = [one.next().value, two.next().value];
for (let i = 0; i < 4; i++) {
  const answer = await ask(`generators: ${i} at ${taken.at(-1)}`);
  taken.push(one.next(answer.length % 5).value, two.next(i).value);
  print("taken:", taken.join(","));
}
taken.push(two.throw(new Error("thrown in")).value);
await ask("generators: before return");
const ended = one.return("end");
const spread = [
  ...(function* () {
    yield* [1, 2];
    yield* "ab";
  })(),
];
const pairs = Object.entries({ x: 1, y: 2 })[Symbol.iterator]();
pairs.next();
const last = await ask("generators: an iterator of the engine is open");
result = {
  taken,
  ended,
  spread,
  log,
  rest: [...pairs],
  last,
  lazy: Iterator.from([1, 2, 3])
    .map((n) => n * 2)
    .toArray(),
};
