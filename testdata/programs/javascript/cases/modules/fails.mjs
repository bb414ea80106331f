// unbalanced
export default 1
function fails() { throw new Error("evaluation fails") }
fails()
