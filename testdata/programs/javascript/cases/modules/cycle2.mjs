import { one } from "./cycle1.mjs"
export function two() { return typeof one }
two()
