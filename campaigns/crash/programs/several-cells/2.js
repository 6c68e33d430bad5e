memory.put("second", twice(await counter.add("three")));
print(open.next().value, pattern.lastIndex);
const pending = ask("several-cells: kept as a promise");
const kept = await pending;
const shared = new WeakMap([[counter, { kept }]]);
result = { kept, memory: memory.get("second"), count, shared: shared.get(counter) };
