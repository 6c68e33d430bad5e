serach("x");
//=> {"success":false,"error_code":"js_error","suggestion":"Did you mean search? If not, define serach before this line."}
//---
const letters = [1];
leters.length;
//=> {"success":false,"error_code":"js_error","suggestion":"Did you mean letters? If not, define leters before this line."}
//---
unheard.of;
//=> {"success":false,"suggestion":"Check the spelling of unheard, or define it before this line."}
