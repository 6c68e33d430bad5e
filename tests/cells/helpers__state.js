helpers.add("h", "let calls = 0;\nconst next = () => ++calls;\nclass K { static made = new Date(0).getTime() }");
//---
[next(), next(), calls, K.made];
//=> {"result_json":[1,2,2,0]}
//---
next();
//=> {"result_json":1}
//---
helpers.add("uses", "const twice = () => next() + next(); const first = find('TODO').matches.length;");
//---
[twice(), first];
//=> {"result_json":[3,1]}
