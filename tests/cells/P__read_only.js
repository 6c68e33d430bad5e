P = "mine";
//=> {"success":false,"error_code":"js_error","error_name":"TypeError","error_message":"TypeError: P is read-only","line":1,"column":1,"suggestion":"P is a builtin: use another name."}
//---
"use strict";
P = "mine";
//=> {"success":false,"error_message":"TypeError: P is read-only","line":2}
//---
globalThis.P = "mine";
//=> {"success":false,"error_message":"TypeError: P is read-only"}
//---
({ P } = { P: "mine" });
//=> {"success":false,"error_message":"TypeError: P is read-only"}
//---
for (P of ["mine"]);
//=> {"success":false,"error_message":"TypeError: P is read-only"}
//---
P += "mine";
//=> {"success":false,"error_message":"TypeError: P is read-only"}
//---
P.length = 3;
[delete globalThis.P, P.length];
//=> {"success":true,"result_json":[false,1563]}
//---
Object.defineProperty(globalThis, "P", { value: "mine" });
//=> {"success":false,"error_name":"TypeError"}
//---
P.length;
//=> {"result_json":1563}
