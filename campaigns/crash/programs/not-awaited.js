// A call in flight when the cell is done is given up, and its promise rejected.
const ask = (text) => llm_query(text, { tools: [] });
const first = await ask("not-awaited: first");
globalThis.told = null;
ask("not-awaited: nobody waits; never").catch((error) => {
  told = error.code;
});
const second = await ask("not-awaited: second; until not-awaited: nobody waits");
print(second);
result = { first, second };
