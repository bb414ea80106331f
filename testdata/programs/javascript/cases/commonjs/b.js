exports.sees = Object.keys(require("./a")).join()
exports.done = true // the end
