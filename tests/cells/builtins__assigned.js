find = 3;
//=> {"success":false,"error_name":"TypeError","error_message":"TypeError: find is read-only"}
//---
"use strict";
globalThis.memory = {};
//=> {"success":false,"error_message":"TypeError: memory is read-only"}
//---
memory.put = 3;
console.log = 3;
peek.extra = 3;
[typeof memory.put, typeof console.log, peek.extra];
//=> {"success":true,"result_json":["function","function",null]}
//---
[delete globalThis.find, typeof find, find.name, Object.keys(globalThis).includes("find")];
//=> {"result_json":[false,"function","find",false]}
