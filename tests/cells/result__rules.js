result = 5;
7;
//=> {"result_json":5}
//---
result
//=> {"result_json":null}
//---
result = null;
7;
//=> {"result_json":null,"warnings":[]}
//---
result = undefined;
7;
//=> {"result_json":7}
//---
const result = { a: 1 };
//=> {"success":true,"result_json":{"a":1}}
//---
let result;
result = 3;
//=> {"success":true,"result_json":3}
//---
{ let result = 3; print(result) }
//=> {"stdout":"3\n","result_json":null}
//---
result = 1;
result = 2;
throw new Error("lost");
//=> {"success":false,"result_json":null,"result_meta":null}
//---
var { result, result_meta } = { result: [1], result_meta: { page: 2 } };
//=> {"result_json":[1],"result_meta":{"page":2}}
//---
globalThis.result = 4;
[delete globalThis.result, result]
//=> {"result_json":4}
