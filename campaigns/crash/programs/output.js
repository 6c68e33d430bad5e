// flags: --max-output-bytes 4000
// Output between awaits, on both streams, until no more is taken.
const ask = (text) => llm_query(text, { tools: [] });
print("first", { nested: [1, 2, { deep: true }] }, [undefined, null, NaN]);
for (let i = 0; i < 6; i++) {
  const answer = await ask(`output: ${i}`);
  console.log(`out ${i}`, answer, "ä€😀".repeat(i));
  console.error(`err ${i}`, new Map([[i, answer]]));
  console.warn("warned", i);
  if (i === 4) print("x".repeat(3500));
}
print("cut off");
const last = await ask("output: nobody sees the rest");
console.error(last);
result = { last, never: undefined, odd: { f: () => 1, n: 1n } };
result_meta = { pages: 6 };
