return 5;
//=> {"success":false,"error_code":"js_error","error_name":"SyntaxError","error_message":"SyntaxError: return is not allowed outside a function","line":1,"column":1,"suggestion":"/result = /"}
//---
const a = 1;
if (a) {
  return { a };
}
//=> {"success":false,"error_name":"SyntaxError","line":3,"column":3,"traceback":"SyntaxError: return is not allowed outside a function\n    at <cell 2>:3:3"}
//---
const f = () => { return 1 };
class K { m() { return 2 } static { (() => { return 3 })() } }
[f(), new K().m()]
//=> {"success":true,"result_json":[1,2]}
