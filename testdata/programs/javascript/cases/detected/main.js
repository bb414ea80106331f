// An ES module that neither its name nor a package.json tells.
import { two } from './two.js'
export const one = () => 1
console.log(one() + two(), typeof module)
