export { meantBy, nearest } from "../../runtime/nearest.ts";
