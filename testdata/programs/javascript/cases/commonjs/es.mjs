export default "es"
export function later() { return typeof require }
