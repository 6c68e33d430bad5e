helpers.add("utils", "const fine = 1;\n  const y = (;\n");
//=> {"success":false,"error_name":"SyntaxError","line":1,
//   "error_message":"SyntaxError: helper utils, line 2, column 14: Unexpected token, in `const y = (;`"}
//---
helpers.add("waits", "const a = 1;\nconst b = await a;");
//=> {"error_message":"/^SyntaxError: helper waits, line 2, column \\d+: .*, in `const b = await a;`$/","suggestion":"/no await/"}
//---
helpers.add("long", `const a = "${"x".repeat(200)}"; const b = (; const c = "${"y".repeat(200)}";`);
//=> {"error_message":"/line 1, column 226: Unexpected token, in `…x+\"; const b = \\(; const c = \"y+…`$/"}
//---
helpers.add("engine", "const fine = 1;\nconst text = /(?<a>x)(?<a>y)/;");
//=> {"success":false,"error_message":"/^SyntaxError: helper engine, line 2, column \\d+: .*, in `const text = /"}
