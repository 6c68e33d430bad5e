eval("1 + 1")
//=> {"result_json":2}
//---
eval("var fromEval = 3");
new Function("a", "b", "return a * b")(6, 7) + fromEval
//=> {"result_json":45}
//---
typeof globalThis.process + typeof globalThis.setTimeout + typeof globalThis.fetch + typeof globalThis.WebAssembly
//=> {"result_json":"undefinedundefinedundefinedundefined"}
//---
setTimeout(() => {}, 5);
//=> {"success":false,"error_name":"ReferenceError","suggestion":"There is no setTimeout here; await a builtin, or use a loop."}
//---
const random = crypto.randomUUID();
//=> {"success":false,"suggestion":"There is no crypto here; Math.random() gives numbers."}
//---
console.time("a");
//=> {"success":false,"error_message":"TypeError: console.time is not a function","suggestion":"/There is no console.time here: console has log, /"}
