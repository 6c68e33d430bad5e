// A loop of awaits: variables of every kind of scope live across each of them.
const ask = (text) => llm_query(text, { tools: [] });
let total = 0;
const seen = [];
for (let i = 1; i <= 6; i++) {
  const before = total;
  const answer = await ask(`loop: step ${i} after ${total}`);
  total += answer.length * i;
  seen.push({ i, answer, grew: total - before, pending: () => i });
  print(`step ${i}: ${total}`);
}
label: for (const outer of [1, 2]) {
  for (const inner of [1, 2]) {
    if (inner === 2) continue label;
    seen.push({ outer, answer: await ask(`loop: nested ${outer}.${inner}`), pending: () => outer * 10 });
    print("nested", outer);
  }
}
result = { total, seen: seen.map(({ pending, ...rest }) => ({ ...rest, closure: pending() })) };
