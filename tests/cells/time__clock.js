const now = Date.now();
[typeof now, now > 1.7e12, new Date(0).getHours(), new Date(now).getTimezoneOffset(), performance.now() >= 0];
//=> {"result_json":["number",true,0,0,true]}
//---
[Math.random() !== Math.random(), Math.random() < 1];
//=> {"result_json":[true,true]}
//---
queueMicrotask(() => print("micro"));
await null;
"after";
//=> {"stdout":"micro\n","result_json":"after"}
