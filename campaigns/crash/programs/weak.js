// Weak references to what lives on, and to what goes while the cell waits.
const ask = (text) => llm_query(text, { tools: [] });
const gone = [];
const registry = new FinalizationRegistry((name) => gone.push(name));
const kept = { name: "kept" };
const alive = new WeakRef(kept);
let dropped = { name: "dropped" };
const dead = new WeakRef(dropped);
registry.register(kept, "kept");
registry.register(dropped, "dropped");
const facts = new WeakMap([[kept, { count: 1 }]]);
const members = new WeakSet([kept, dropped]);
const steps = [];
const look = (step) =>
  steps.push({
    step,
    alive: alive.deref() === kept,
    dead: dead.deref() === undefined,
    member: members.has(kept),
    facts: facts.get(kept),
  });
look("begin");
await ask("weak: both live");
dropped = null;
facts.get(kept).count += (await ask("weak: one goes")).length;
look("after");
print("gone:", gone.join(","));
const keys = [];
for (let i = 0; i < 3; i++) {
  const key = { i };
  keys.push(key);
  facts.set(key, { count: i, answer: await ask(`weak: key ${i}`) });
  print("key", i);
}
keys.splice(1, 1);
registry.unregister(kept);
const last = await ask("weak: last");
look("end");
result = { steps, gone, keys: keys.map((key) => facts.get(key)), last };
