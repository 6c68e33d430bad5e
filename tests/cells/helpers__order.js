helpers.add("utils", "const chunk = (text, size) => [text.slice(0, size), text.slice(size)];\nfunction who() { return 'utils' }");
helpers.add("later", "function who() { return 'later, after ' + typeof chunk }");
typeof chunk;
//=> {"success":true,"result_json":"undefined"}
//---
[chunk("abcd", 3), who(), helpers.list().map(({ name }) => name)];
//=> {"result_json":[["abc","d"],"later, after function",["utils","later"]]}
//---
helpers.add("utils", "const chunk = () => 'replaced';\nfunction who() { return 'utils' }");
[chunk("abcd", 3)[0], helpers.list().map(({ name }) => name)];
//=> {"result_json":["abc",["utils","later"]]}
//---
[chunk(), who()];
//=> {"result_json":["replaced","later, after function"]}
