let twice = 1;
let twice = 2;
//=> {"success":false,"error_code":"js_error","error_name":"SyntaxError","line":2}
//---
typeof twice
//=> {"result_json":"undefined"}
//---
const once = 1;
var once = 2;
//=> {"success":false,"error_name":"SyntaxError"}
