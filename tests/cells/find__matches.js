find("todo|fixme", "i");
//=> {"success":true,"warnings":[],"result_json":{"matches":[[554,558],[912,916],[1210,1215]],"capped":false}}
//---
find("todo|fixme", "i").matches.map(([start, end]) => peek(start, end));
//=> {"result_json":["todo","TODO","FIXME"]}
//---
find("there is no such text");
//=> {"success":true,"warnings":[],"result_json":{"matches":[],"capped":false}}
