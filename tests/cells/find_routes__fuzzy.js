[find_routes("invo")[0].path, find_routes("paymnets")[0].path, find_routes("zebra"), find_routes("")];
//=> {"result_json":["src/billing/invoice.js","src/billing/payment.js",[],[]]}
//---
find_routes("invoice", 1).length;
//=> {"result_json":1}
//---
find_routes("invoice", 0).length;
//=> {"result_json":1}
//---
find_routes("invoice").every(({ relevance }) => relevance > 0 && relevance <= 1);
//=> {"result_json":true}
//---
find_routes();
//=> {"success":false,"error_message":"TypeError: find_routes: topic is missing"}
