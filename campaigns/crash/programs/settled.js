// Promise.allSettled and Promise.any over calls of which some fail.
const ask = (text) => llm_query(text, { tools: [] });
const told = ({ code, name, message, retriable }) => ({ code, name, message, retriable });
const settled = await Promise.allSettled([
  ask("settled: one"),
  ask("settled: two; refuse"),
  ask("settled: three"),
  Promise.reject(new TypeError("of the cell")),
  "a value",
]);
print("settled:", settled.map(({ status }) => status).join(" "));
const three = [ask("settled: bad; refuse"), ask("settled: good"), ask("settled: worse; refuse")];
const any = await Promise.any(three);
print("any:", any);
let none;
try {
  await Promise.any([ask("settled: x; refuse"), ask("settled: y; refuse")]);
} catch (error) {
  none = { name: error.name, errors: error.errors.map(told) };
  print("none:", error.errors.length);
}
const after = await ask("settled: after all");
// A call that is open at the end of a cell is warned of, and chance would decide.
await Promise.allSettled(three);
result = {
  settled: settled.map(({ status, value, reason }) => ({
    status,
    value: value ?? null,
    reason:
      reason === undefined ? null : [reason instanceof TypeError, told(reason).message, told(reason).code ?? null],
  })),
  any,
  none,
  after,
};
