Promise.reject(new Error("boo"));
1;
//=> {"success":true,"result_json":1,"warnings":["unhandled_rejection: Error: boo"]}
//---
const late = Promise.reject(new Error("handled later"));
await null;
late.catch(() => {});
2;
//=> {"success":true,"result_json":2,"warnings":[]}
//---
(async () => {
  await null;
  throw new TypeError("in the background");
})();
3;
//=> {"success":true,"result_json":3,"warnings":["unhandled_rejection: TypeError: in the background"]}
//---
Promise.reject(1).catch(() => {});
4;
//=> {"warnings":[]}
