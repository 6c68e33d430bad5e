import fs from "node:fs";
//=> {"success":false,"error_code":"sandbox_violation","error_name":"SyntaxError","line":1,"column":1,"suggestion":"/no modules/"}
//---
const a = 1;
const fs = await import("node:fs");
//=> {"success":false,"error_code":"sandbox_violation","line":2,"column":18}
//---
const load = () => import("./x.js");
//=> {"success":false,"error_code":"sandbox_violation"}
//---
const fs = require("fs");
//=> {"success":false,"error_code":"sandbox_violation","error_message":"/require\\(\"fs\"\\)/","line":1,"suggestion":"/no modules/"}
//---
let code;
try {
  require("fs");
} catch (error) {
  code = error.code;
}
code
//=> {"success":true,"result_json":"sandbox_violation"}
//---
{ a: import("x") }
//=> {"success":false,"error_code":"sandbox_violation","line":1,"column":6}
//---
const text = "import fs from 'fs'; return import('x')";
text.length
//=> {"success":true,"result_json":39}
