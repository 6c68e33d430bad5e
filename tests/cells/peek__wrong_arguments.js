peek();
//=> {"success":false,"error_name":"TypeError","error_message":"TypeError: peek: start is missing","suggestion":"/^Call it as peek\\(start, end\\)/"}
//---
peek(1);
//=> {"success":false,"error_message":"TypeError: peek: end is missing"}
//---
peek("0", 5);
//=> {"success":false,"error_name":"TypeError","error_message":"/^TypeError: peek: start .*\"0\"/"}
//---
peek(0.5, 5);
//=> {"success":false,"error_name":"TypeError","error_message":"/start .*0.5/"}
//---
peek(Number.NaN, 5);
//=> {"success":false,"error_name":"TypeError"}
//---
peek(0, Infinity);
//=> {"success":false,"error_name":"TypeError"}
//---
peek(0, 1n);
//=> {"success":false,"error_name":"TypeError"}
//---
peek(0, 1, 2);
//=> {"success":false,"error_message":"TypeError: peek takes 2 arguments (start, end)"}
