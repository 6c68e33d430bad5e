[search("invoice", 1).length, search("invoice", 2).length, search("invoice", 0).length, search("invoice", 1000).length > 2];
//=> {"result_json":[1,2,1,true]}
//---
[search("zebra"), search(""), search("***")];
//=> {"success":true,"result_json":[[],[],[]]}
//---
search();
//=> {"success":false,"error_message":"TypeError: search: query is missing"}
//---
search("invoice", "3");
//=> {"success":false,"error_name":"TypeError"}
