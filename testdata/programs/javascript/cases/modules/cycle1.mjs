import { two } from "./cycle2.mjs"
export function one() { return "one " + two() }
