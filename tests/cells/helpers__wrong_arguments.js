helpers.add();
//=> {"success":false,"error_name":"TypeError","error_message":"TypeError: helpers.add: name is missing"}
//---
helpers.add("x");
//=> {"success":false,"error_message":"TypeError: helpers.add: code is missing"}
//---
helpers.add("x", 5);
//=> {"success":false,"error_name":"TypeError"}
//---
helpers.add("x", () => 1);
//=> {"success":false,"error_name":"TypeError"}
//---
helpers.remove("never added");
//=> {"success":true,"result_json":false}
