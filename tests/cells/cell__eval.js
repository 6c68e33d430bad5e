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
//=> {"success":false,"error_name":"ReferenceError","suggestion":"/no timers/"}
//---
const text = structuredClone({});
//=> {"success":false,"suggestion":"/JSON.parse/"}
