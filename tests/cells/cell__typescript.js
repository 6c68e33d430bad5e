const matches: number = count("TODO");
const rows = [1, 2].map((n: number): { n: number } => ({ n }));
interface Row {
  n: number;
}
rows as Row[]
//=> {"result_json":[{"n":1},{"n":2}],"warnings":["typescript_stripped"]}
//---
matches - count("TODO")
//=> {"result_json":0,"warnings":[]}
//---
const later: string = await Promise.resolve("a");
const missing = later!.length + nowhere;
//=> {"success":false,"error_name":"ReferenceError","line":2,"column":33,"warnings":["typescript_stripped"]}
//---
enum Color { Red }
//=> {"success":false,"error_name":"SyntaxError","line":1,"suggestion":"/Write an object for the enum/"}
//---
helpers.add("typed", "function twice(n: number): number { return n * 2; }");
//=> {"success":true,"warnings":["typescript_stripped: helper typed"]}
//---
[twice(4), helpers.list()[0].code]
//=> {"result_json":[8,"function twice(n: number): number { return n * 2; }"],"warnings":[]}
