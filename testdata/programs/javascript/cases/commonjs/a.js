exports.name = function () { return "a" }
exports.b = require("./b")
