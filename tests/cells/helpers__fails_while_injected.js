helpers.add("bad", "const ok = 1;\nthrow new Error('not a declaration');");
//---
1 + 1;
//=> {"success":false,"error_code":"js_error","error_message":"Error: not a declaration","line":2,"traceback":"/^Error: not a declaration\\n    at <helper bad>:2:\\d+$/"}
