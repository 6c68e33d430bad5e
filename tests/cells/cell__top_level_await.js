const a = await 1;
const b = await Promise.resolve(2);
const { c } = await Promise.resolve({ c: 3 });
[a, b, c, await (async () => 4)()]
//=> {"result_json":[1,2,3,4]}
//---
let sum = 0;
for (const p of [1, Promise.resolve(2)]) sum += await p;
for await (const p of [Promise.resolve(3), 4]) sum += p;
sum
//=> {"result_json":10}
//---
async function* letters() { yield "a"; await null; yield "b" }
const seen = [];
for await (const letter of letters()) seen.push(letter);
seen
//=> {"result_json":["a","b"]}
//---
const all = await Promise.allSettled([Promise.resolve(1), Promise.reject(new Error("no"))]);
all.map(({ status }) => status)
//=> {"result_json":["fulfilled","rejected"]}
//---
try {
  await Promise.reject(new TypeError("caught"));
} catch (error) {
  result = error.message;
}
//=> {"result_json":"caught"}
//---
await Promise.reject(new RangeError("uncaught"));
//=> {"success":false,"error_name":"RangeError","error_message":"RangeError: uncaught"}
