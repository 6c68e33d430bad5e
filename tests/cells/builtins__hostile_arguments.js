let error;
try {
  peek({ valueOf: () => 0 }, 5);
} catch (caught) {
  error = [caught.name, caught.code];
}
error;
//=> {"result_json":["TypeError","js_error"]}
//---
const cyclic = {};
cyclic.self = cyclic;
find(cyclic);
//=> {"success":false,"error_name":"TypeError","error_message":"/^TypeError: find: argument 1\\.self is a cycle/"}
//---
peek(new Map(), 1);
//=> {"success":false,"error_message":"TypeError: peek: argument 1 is a Map"}
//---
find("a\0b").matches.length;
//=> {"success":true,"result_json":0}
