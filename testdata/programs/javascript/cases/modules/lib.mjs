export let count = 0
export function increment() { count++ }
export class Thing { twice = (x) => x * 2 }
export default "default value"
