// Memory and helpers written between awaits; what they hold is read again at the end.
const ask = (text) => llm_query(text, { tools: [] });
memory.put("begun", true);
helpers.add("shout", "const shout = (text) => text.toUpperCase() + '!'; let shouted = 0;");
for (let i = 0; i < 4; i++) {
  const answer = await ask(`memory: ${i} with ${memory.list().length} keys`);
  memory.put(`answer ${i}`, { answer, i });
  if (i === 2) memory.delete("begun");
  helpers.add(`helper_${i}`, `const helper_${i} = () => ${JSON.stringify(answer)};`);
  print("keys:", memory.list().join(","));
}
const batch = memory.batch([
  { op: "put", key: "batch", value: [1, 2, 3] },
  { op: "get", key: "answer 1" },
  { op: "delete", key: "answer 0" },
]);
let refused;
try {
  memory.batch([
    { op: "put", key: "half", value: 1 },
    { op: "put", key: "whole", value: undefined },
  ]);
} catch (error) {
  refused = error.name;
}
helpers.remove("helper_1");
await ask("memory: after the batch");
result = {
  batch,
  refused,
  keys: memory.list(),
  values: memory.list().map((key) => memory.get(key)),
  helpers: helpers.list().map(({ name, code }) => [name, code.length]),
  calls: budget().sub_calls,
  bytes: session().memory_bytes_used,
};
