const bad = missing();
//=> {"success":false,"error_name":"ReferenceError","error_message":"/missing/","suggestion":"/spelling of missing/"}
//---
const bad = 2;
bad
//=> {"success":true,"result_json":2}
//---
const before = 1;
throw new Error("half");
const after = 2;
//=> {"success":false,"error_message":"Error: half","line":2}
//---
[before, after === undefined]
//=> {"result_json":[1,true]}
