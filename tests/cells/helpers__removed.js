helpers.add("h", "class Box { open() { return 'open' } }\nlet total = 1; var plain = 2; function f() {}");
//---
[new Box().open(), total, plain, typeof f];
//=> {"result_json":["open",1,2,"function"]}
//---
[helpers.remove("h"), helpers.remove("h"), helpers.list()];
//=> {"result_json":[true,false,[]]}
//---
[typeof Box, typeof total, typeof plain, typeof f];
//=> {"result_json":["undefined","undefined","undefined","undefined"]}
