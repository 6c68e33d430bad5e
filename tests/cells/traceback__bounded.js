function deep(n) {
  if (n === 0) throw new Error("bottom");
  deep(n - 1);
}
deep(100);
//=> {"success":false,"line":2,"traceback":"/^Error: bottom\\n    at deep \\(<cell 1>:2:26\\)(\\n    at deep \\(<cell 1>:3:\\d+\\)){9,}/"}
//---
eval("\n\nthrow new Error('inside eval')");
//=> {"success":false,"error_message":"Error: inside eval","line":1,"traceback":"/<cell 2>:1/"}
//---
new Function("throw new Error('inside Function')")();
//=> {"success":false,"traceback":"/^Error: inside Function\\n    at <cell 3>:1:\\d+$/"}
//---
throw new Error("x".repeat(100000));
//=> {"success":false,"error_message":"/^Error: x{8192}…$/"}
