helpers.add("broken", "function (");
//=> {"success":false,"error_code":"js_error","error_name":"SyntaxError","suggestion":"/./"}
//---
helpers.add("waits", "const x = await 1;");
//=> {"success":false,"error_name":"SyntaxError","suggestion":"/no await/"}
//---
helpers.add("imports", "const load = () => import('fs');");
//=> {"success":false,"error_code":"sandbox_violation"}
//---
helpers.add("returns", "return 1;");
//=> {"success":false,"error_name":"SyntaxError"}
//---
helpers.add("shadow", "function find() {}");
//=> {"success":false,"error_name":"SyntaxError","error_message":"/find is a builtin/"}
//---
helpers.list();
//=> {"result_json":[]}
//---
helpers.add("kept", "const a = 1;");
try {
  helpers.add("kept", "const = 2;");
} catch {}
helpers.list();
//=> {"result_json":[{"name":"kept","code":"const a = 1;"}]}
//---
helpers.add();
//=> {"success":false,"error_name":"TypeError","error_message":"TypeError: helpers.add: name is missing"}
//---
helpers.add("x");
//=> {"success":false,"error_message":"TypeError: helpers.add: code is missing"}
//---
helpers.add("x", 5);
//=> {"success":false,"error_name":"TypeError"}
//---
helpers.add("x", () => 1);
//=> {"success":false,"error_name":"TypeError"}
//---
helpers.remove("never added");
//=> {"success":true,"result_json":false}
