helpers.add("bad", "const ok = 1;\nvar result = 5;");
//=> {"success":false,"error_code":"js_error",
//   "error_message":"SyntaxError: helper bad, line 2, column 5: result is a global of the machine and cannot be declared by a helper, in `var result = 5;`",
//   "suggestion":"Choose another name, such as my_result."}
//---
const refused = [];
for (const code of ["let result_meta;", "const { a, Map } = {};", "function JSON() {}", "class Array {}", "if (1) { var undefined }", "for (var NaN of []);"]) {
  try {
    helpers.add("bad", code);
  } catch (error) {
    refused.push(/: (\w+) is a global/.exec(error.message)?.[1]);
  }
}
helpers.add("fine", "function inner() { const Map = 1; var result = Map; return result } { const Set = 2 }");
[refused, helpers.list().map(({ name }) => name)];
//=> {"result_json":[["result_meta","Map","JSON","Array","undefined","NaN"],["fine"]]}
//---
inner();
//=> {"success":true,"result_json":1}
