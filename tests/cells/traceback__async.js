const wait = async () => {
  await null;
  throw new Error("late");
};
await wait();
//=> {"success":false,"error_message":"Error: late","line":3,"column":13}
//---
const run = async (n) => {
  if (n === 0) return await wait();
  return run(n - 1);
};
await run(2);
//=> {"success":false,"line":3,"traceback":"/^Error: late\\n    at wait \\(<cell 1>:3:13\\)/"}
//---
[3, 1, 2].sort((a, b) => {
  if (a === 1) throw new Error("in a callback");
  return a - b;
});
//=> {"success":false,"line":2,"column":26}
//---
for (const value of (function* () {
  yield 1;
  throw new Error("in a generator");
})()) value;
//=> {"success":false,"line":3,"column":13}
