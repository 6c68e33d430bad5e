// Maps and sets with open iterators, dates, symbols, accessors, sparse arrays, errors as values.
const ask = (text) => llm_query(text, { tools: [] });
const map = new Map([
  ["a", 1],
  [{ key: 1 }, "object"],
  [NaN, "nan"],
  [-0, "zero"],
]);
const set = new Set(["x", "y", "z"]);
const mapAt = map.entries();
const setAt = set.values();
mapAt.next();
const order = [];
for (const step of [1, 2, 3]) {
  const answer = await ask(`collections: ${step} of ${map.size}`);
  map.set(`step ${step}`, answer.length);
  if (step === 2) map.delete("a");
  set.add(answer.slice(0, 2) + step);
  order.push(setAt.next().value, String(mapAt.next().value?.[1]));
  print("order:", order.join(" "));
}
const sparse = [1];
sparse[2] = 3;
sparse[10] = "far";
const counted = {
  n: 0,
  get next() {
    return ++this.n;
  },
};
counted.next;
const registered = Symbol.for("belay.crash");
const when = new Date(86_400_000);
const cause = new Error("outer", { cause: new TypeError("inner") });
const cycle = { name: "cycle" };
cycle.self = cycle;
const groups = Map.groupBy([1, 2, 3, 4], (n) => (n % 2 ? "odd" : "even"));
const late = await ask("collections: late");
when.setUTCHours(5);
result = {
  order,
  late,
  rest: [...setAt],
  left: [...mapAt].map(([key, value]) => [typeof key, value]),
  sparse: [sparse.length, 1 in sparse, Object.keys(sparse)],
  counted: counted.next,
  symbol: Symbol.keyFor(registered),
  when: when.toISOString(),
  cause: [cause.cause.name, cause.message],
  cycle: cycle.self.self.name,
  groups: [...groups],
  union: [...set.union(new Set(["w"]))].length,
};
