// Batches half settled: items with options of their own, items that fail, one batch beside another, a smaller window.
const wide = await llm_query_batch(
  Array.from({ length: 8 }, (_, index) =>
    index % 3 === 2 ? { prompt: `batch: ${index}; refuse`, max_tokens: 100 + index } : `batch: ${index}`,
  ),
  { tools: [], max_concurrent: 3 },
);
print("wide:", wide.execution_mode, wide.results.length);
const [left, right, single] = await Promise.all([
  llm_query_batch(["batch: left 1", "batch: left 2", "batch: left 3"], { tools: [] }),
  llm_query_batch(["batch: right 1", "batch: right 2; refuse"], { tools: [], system: "Be short." }),
  llm_query("batch: alone", { tools: [] }),
]);
print("both:", left.results.length + right.results.length);
const typed = await llm_query("batch: json", {
  tools: [],
  schema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
});
result = { wide: wide.results, left: left.results, right: right.results, single, typed };
