find("(");
//=> {"success":false,"error_code":"js_error","error_name":"SyntaxError","line":1,"column":1,"suggestion":"/./"}
//---
find("(?=TODO)");
//=> {"success":false,"error_code":"js_error","error_name":"SyntaxError","error_message":"/\\(\\?=/","suggestion":"/filter/"}
//---
find("(a)\\1");
//=> {"success":false,"error_name":"SyntaxError","suggestion":"/./"}
//---
let seen;
try {
  find("[");
} catch (error) {
  seen = [error.name, error.code, error instanceof SyntaxError];
}
seen;
//=> {"success":true,"result_json":["SyntaxError","js_error",true]}
//---
find();
//=> {"success":false,"error_code":"js_error","error_name":"TypeError","error_message":"/^TypeError: find: pattern /","suggestion":"/find\\(pattern, flags, options\\)/"}
//---
find(42);
//=> {"success":false,"error_name":"TypeError","error_message":"/pattern .*42/"}
//---
find("a", 1);
//=> {"success":false,"error_name":"TypeError","error_message":"/flags .*1/"}
//---
find("a", "i", null, "extra");
//=> {"success":false,"error_name":"TypeError","error_message":"TypeError: find takes 3 arguments (pattern, flags, options)"}
//---
find("TODO", undefined).matches.length;
//=> {"result_json":1}
